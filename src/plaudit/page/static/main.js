// The frame of the page: what stands above every view, and the start.

const { h } = plaudit.dom;

const main = h("main", { id: "main", tabindex: "-1" });
const status = h("span.status", { role: "status" });

document.body.append(
  h(
    "a.skip",
    {
      href: "#main",
      onclick: (event) => {
        event.preventDefault();
        main.focus();
      },
    },
    "Skip to content",
  ),
  h(
    "header.top",
    {},
    h("a.brand", { href: "#/index" }, h("span.mark", { "aria-hidden": "true" }, h("i"), h("i"), h("i")), "plaudit"),
    h("div", { id: "trail" }),
    status,
  ),
  main,
);

function tell(state, message = "") {
  status.className = `status ${state}`;
  status.textContent = { live: "Live", lost: "Disconnected, reconnecting", gone: message }[state];
}

if (plaudit.store.live) history.replaceState(null, "", `/${location.hash}`); // without the ? that the token left
plaudit.router.start();
plaudit.store.listen(plaudit.router.refresh, tell);
