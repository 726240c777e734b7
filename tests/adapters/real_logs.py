"""Writes small logs with the packages themselves, for the tests that import them: run by `real_packages.py`.

Each goes to `recorded/logs`, under the name of the package.
"""

import asyncio
import json
import os
import shutil
import tempfile
import threading
from contextlib import chdir, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from support import sums

LOGS = Path(__file__).parent / "recorded" / "logs"
SAID = {"1 + 1": ["2", "3"], "2 + 3": ["It is 5", "<think>2 and 3</think>5"]}
"""What the model of verifiers answers, each in turn."""


def clear(name):
    """Return an empty folder."""
    shutil.rmtree(LOGS / name, ignore_errors=True)
    (LOGS / name).mkdir(parents=True)
    return LOGS / name


# -- TRL --------------------------------------------------------------------------------------------------------------


def digits(completions, log_extra, answer, **_):
    """Return the share of digits, and log a column of the data set."""
    log_extra("answer", answer)
    return [sum(word.isdigit() for word in text_of(each).split()) / 5 for each in completions]


def brief(completions, **_):
    """Return more for fewer words; nothing for none."""
    counts = [len(text_of(each).split()) for each in completions]
    return [1 / count if count else None for count in counts]


def text_of(completion):
    return completion if isinstance(completion, str) else completion[0]["content"]


def log_trl(trained):
    """Train with `log_completions=True`, on every batch twice, with texts and with conversations."""
    folder = clear("trl")
    for name, conversational in (("texts", False), ("conversations", True)):
        with tempfile.TemporaryDirectory() as place:
            logs = {
                "output_dir": place,
                "log_completions": True,
                "num_completions_to_print": 0,
                "num_iterations": 2,
                "max_steps": 3,
            }
            trained([digits, brief], [1.0, 0.5], conversational=conversational, batch=8, config=logs)
            shutil.copytree(Path(place) / "completions", folder / name / "completions")


# -- verifiers --------------------------------------------------------------------------------------------------------


@contextmanager
def _serve():
    """Yield the address of a server that completes chats with `SAID`."""
    turns = dict.fromkeys(SAID, 0)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"][-1]["content"]
            prompt = content if isinstance(content, str) else content[0]["text"]
            turn, turns[prompt] = turns[prompt], turns[prompt] + 1
            message = {"role": "assistant", "content": SAID[prompt][turn % 2]}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            choices = [{"index": 0, "finish_reason": "stop", "message": message}]
            reply = {"id": "0", "object": "chat.completion", "created": 0, "model": "said", "choices": choices}
            body = json.dumps({**reply, "usage": usage}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def log_rubric(vf):
    """Evaluate with `save_results=True`."""
    from datasets import Dataset
    from verifiers.legacy.types import ClientConfig

    def right(completion, answer):
        return float(completion[-1]["content"].endswith(answer))

    def brief(completion):
        return 1 / len(completion[-1]["content"].split())

    rows = Dataset.from_dict({"question": list(SAID), "answer": ["2", "5"], "info": [{"kind": "sum"}] * 2})
    env = vf.SingleTurnEnv(dataset=rows, rubric=vf.Rubric(funcs=[right, brief], weights=[1.0, 0.5]))
    os.environ["SAID_KEY"] = "none"
    with _serve() as address:
        client = ClientConfig(api_base_url=address, api_key_var="SAID_KEY")
        count = {"num_examples": 2, "rollouts_per_example": 2}
        folder = clear("verifiers-0.3")
        asyncio.run(env.evaluate(client, "said", **count, save_results=True, results_path=folder))
    (folder / "metadata.json").unlink()


def log_task(vf):
    """Score traces, one of which cannot be, and save them as `eval` does."""
    from verifiers.v1.configs.agent import AgentConfig
    from verifiers.v1.episode import EnvInfo, Episode
    from verifiers.v1.graph import MessageNode
    from verifiers.v1.trace import AgentInfo, TraceTask
    from verifiers.v1.types import AssistantMessage, ToolCall, ToolMessage, UserMessage
    from verifiers.v1.utils.trace_store import write_episode

    class Data(vf.TaskData):
        answer: str

    class Sums(vf.Task[Data]):
        @vf.reward
        async def right(self, task, trace):
            return float(trace.last_reply.endswith(task.answer))

        @vf.reward(weight=0.5)
        async def brief(self, task, trace):
            return 1 / len(trace.last_reply.split())

        @vf.metric
        async def letters(self, task, trace):
            return float(len(trace.last_reply))

    folder = clear("verifiers-0.4")
    called = [
        AssistantMessage(content=None, tool_calls=[ToolCall(id="a", name="add", arguments='{"of": [2, 3]}')]),
        ToolMessage(tool_call_id="a", content="5"),
    ]
    told = [[], [], called, []]
    for at, said in enumerate(["2", "3", "It is 5", ""]):
        data = Data(idx=at // 2, prompt=sums.PROMPTS[at // 2], answer=sums.COLUMNS["answer"][at // 2])
        task = Sums(data)
        last = AssistantMessage(content=said, reasoning_content="Well.")
        messages = [UserMessage(content=data.prompt), *told[at], last]
        nodes = [
            MessageNode(parent=place - 1 if place else None, message=each, sampled=each.role == "assistant")
            for place, each in enumerate(messages)
        ]
        about = TraceTask(type="Sums", data=data, key=task.key, hash=task.hash)
        trace = vf.Trace(task=about, agent=AgentInfo(config=AgentConfig()), nodes=nodes)
        try:
            asyncio.run(task.score(trace))
            trace.is_completed = trace.ok = True
        except vf.TaskError as error:
            trace.record_error(error)
            trace.errors[-1].traceback = None  # it names places on this machine
        write_episode(folder, Episode(env=EnvInfo(id="sums"), task=about, traces=[trace], ok=trace.ok))


# -- Inspect ----------------------------------------------------------------------------------------------------------


def log_inspect(scorer):
    """Evaluate with a scorer that plaudit made, into an `.eval`, and with two of Inspect's own, into a `.json`."""
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ContentReasoning, ContentText, ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import includes, match
    from inspect_ai.solver import generate

    folder = clear("inspect")
    rows = [
        Sample(id=f"sample {at}", input=sums.PROMPTS[at], target=sums.COLUMNS["answer"][at], metadata={"kind": kind})
        for at, kind in ((0, "sum"), (1, "sum"), (3, "poem"))
    ]
    for kind, scorers in (("eval", scorer), ("json", [match(location="exact"), includes()])):
        said = ["2", "2 + 3 = 5", "roses", "3", "It is 5", "violets"]
        outputs = [
            ModelOutput.from_content("mockllm/model", [ContentReasoning(reasoning="Well."), ContentText(text=text)])
            for text in said
        ]
        for output in outputs:
            output.usage = ModelUsage()  # counting tokens would download a tokenizer
        model = get_model("mockllm/model", custom_outputs=iter(outputs))
        task = Task(dataset=rows, solver=generate(), scorer=scorers, epochs=2, name="sums")
        options = {"display": "none", "max_samples": 1, "log_realtime": False, "log_format": kind}
        with tempfile.TemporaryDirectory() as place, chdir(place):  # where no repository is, which Inspect would note
            (log,) = eval(task, model=model, log_dir=place, **options)
            assert log.status == "success", log.error
            shutil.copy(log.location, folder / f"sums.{kind}")
