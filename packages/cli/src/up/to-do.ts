import type { ServerFailure, ServerStatus } from "@wirescope/gateway";
import type { ServerCommands } from "./server-commands.js";

/** What a person can do about a server that does not work. */
export interface ToDo {
  readonly server: string;
  /** What is the matter, in a sentence or a few. */
  readonly problem: string;
  /** The command or link that mends it, or that says more. */
  readonly command: string;
}

/** How long a problem may be, in characters; a command says the rest. */
const maxCharacters = 240;

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
        return [{ server: name, problem: "pending approval", command: commands.about("trust", name) }];
      case "SIGN_IN_NEEDED":
        return [{ server: name, problem: "sign-in required", command: signInOf(name) }];
      case "ENTRY_INVALID":
      case "VARIABLE_UNUSABLE":
        return [{ server: name, problem: problemOf(failure), command: commands.check(name) }];
      default:
        return [{ server: name, problem: problemOf(failure), command: commands.about("why", name) }];
    }
  });
}

/** Why it fails, and what to do about it if that is short. The server's name is shown already, so the subject is not. */
function problemOf({ message, error }: ServerFailure): string {
  const { problem, advice } = error ?? { problem: message, advice: "" };
  if (problem.length > maxCharacters) return `${problem.slice(0, maxCharacters - 1)}…`;
  return advice === "" || problem.length + 1 + advice.length > maxCharacters ? problem : `${problem} ${advice}`;
}
