import { commonOptions } from "../options.js";
import { UsageError } from "../usage-error.js";
import { type Command, defineCommand } from "./command.js";

/** Prints the completion script of a shell, and completes ids and names for these scripts. */
export function defineCompletionCommand(commandsOf: () => readonly Command[]): Command {
  return defineCommand(
    {
      name: "completion",
      summary: "print the script that completes commands, options and ids in a shell",
      parameters: ["<bash|zsh|fish>", "[words …]"],
      options: commonOptions,
      notes: [
        "bash: add to ~/.bashrc: source <(wirescope completion bash)",
        "zsh:  add to ~/.zshrc, after compinit: source <(wirescope completion zsh)",
        "fish: wirescope completion fish > ~/.config/fish/completions/wirescope.fish",
        "",
        "The ids and names of objects are read from the target, if it responds within 300 ms.",
      ],
    },
    async ({ positionals: [what = "", ...words], io }) => {
      if (what === "ids" || what === "names") {
        const { completeObjects } = await import("../completion/complete-objects.js");
        for (const line of await completeObjects(what, words, io.env)) io.stdout.write(`${line}\n`);
        return 0;
      }
      const { completionScript, shells } = await import("../completion/scripts.js");
      const { completedCommands } = await import("../completion/words.js");
      const shell = shells.find((known) => known === what);
      if (shell === undefined) throw new UsageError(`There is no completion for "${what}". Use ${shells.join(", ")}.`);
      io.stdout.write(completionScript(shell, completedCommands(commandsOf())));
      return 0;
    },
  );
}
