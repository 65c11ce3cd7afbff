import type { ServerStatus } from "@wirescope/gateway";
import type { ServerCommands } from "./server-commands.js";

/** What a person can do about a server that does not work. */
export interface ToDo {
  readonly server: string;
  /** What is the matter, in a sentence or a few. */
  readonly problem: string;
  /** The command or link that mends it, or that says more. */
  readonly command: string;
}

/** So many characters are told of a problem; a command says the rest. */
const mostCharacters = 240;

/** What is to be done, in the order of the servers; nothing for those that work. */
export function toDoOf(
  servers: readonly ServerStatus[],
  commands: ServerCommands,
  signInOf: (server: string) => string,
): ToDo[] {
  return servers.flatMap(({ name, failure, state }): ToDo[] => {
    if (failure === undefined || state === "READY") return [];
    switch (failure.code) {
      case "NOT_TRUSTED":
        return [{ server: name, problem: "is not approved yet", command: commands.about("trust", name) }];
      case "SIGN_IN_NEEDED":
        return [{ server: name, problem: "wants you to sign in", command: signInOf(name) }];
      case "ENTRY_INVALID":
      case "VARIABLE_UNUSABLE":
        return [{ server: name, problem: problemOf(failure.message), command: commands.check(name) }];
      default:
        return [{ server: name, problem: problemOf(failure.message), command: commands.about("why", name) }];
    }
  });
}

/**
 * What is wrong, as far as it is short. The server's name stands there already, so a sentence that says no more goes; and so does the
 * PATH that was searched.
 */
function problemOf(message: string): string {
  const all = message.replace(/ \(PATH searched: [^)]*\)/, "").split(/(?<=\.["')]?) +(?=["A-Z\d])/);
  const isPreamble = /^The (?:entry of the )?server ".*" (?:refused the request|has errors|cannot be used)\.$/;
  const [first = "", ...more] = all.length > 1 && isPreamble.test(all[0] ?? "") ? all.slice(1) : all;
  let text = first;
  for (const sentence of more) {
    if (text.length + 1 + sentence.length > mostCharacters) break;
    text += ` ${sentence}`;
  }
  return text;
}
