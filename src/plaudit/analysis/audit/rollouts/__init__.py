"""What an audit finds in rollouts: completions of language models, by the group, the text and the answer."""
