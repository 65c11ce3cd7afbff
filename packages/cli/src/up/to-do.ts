import type { ServerFailure, ServerStatus } from "@wirescope/gateway";
import { shellWord } from "@wirescope/tool-server/internal/command-line";

/** How to fix a server that does not work. */
export interface ToDo {
  readonly server: string;
  /** The problem, in one or a few sentences. */
  readonly problem: string;
  /** The command or link that fixes it, or that says more. */
  readonly command: string;
}

/** The maximum length of a problem in characters; the command shows the rest. */
const maxCharacters = 240;

/** The to-do list, in the order of the servers, without those that work. */
export function toDoOf(
  servers: readonly ServerStatus[],
  commands: ServerCommands,
  signInOf: (server: string) => string,
): ToDo[] {
  return servers.flatMap(({ name, failure }): ToDo[] => {
    if (failure === undefined) return [];
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

/** Why the server fails, and what to do if that is short. */
function problemOf({ message, error }: ServerFailure): string {
  const { problem, advice } = error ?? { problem: message, advice: "" };
  if (problem.length > maxCharacters) return `${problem.slice(0, maxCharacters - 1)}…`;
  return advice === "" || problem.length + 1 + advice.length > maxCharacters ? problem : `${problem} ${advice}`;
}

/** Commands for the servers of the gateway, ready to be copied. */
export interface ServerCommands {
  /** The program name that commands begin with. */
  readonly program: string;
  /** A command about a server, such as `why`. */
  about(verb: string, server: string): string;
  /** The command that checks the configuration of a server. */
  check(server: string): string;
  /** The command that checks a configuration. */
  checkFile(file: string | undefined): string;
}

interface ServerCommandsOptions {
  readonly program: string;
  /** The configuration that commands find in this folder without its path, as the gateway did; undefined with --config. */
  readonly foundFile: string | undefined;
  /** Whether the demonstration runs: only the gateway knows its servers. */
  readonly isDemo: boolean;
  /** The configuration that a server is in. */
  readonly fileOf: (server: string) => string | undefined;
}

/** Creates commands for the servers of this gateway that work in any folder, even one with another configuration. */
export function createServerCommands(options: ServerCommandsOptions): ServerCommands {
  const { program, foundFile, isDemo, fileOf } = options;
  const checkFile = (file: string | undefined): string =>
    file === undefined || file === foundFile ? `${program} check` : `${program} check ${shellWord(file)}`;
  return {
    program,
    about(verb, server) {
      const file = fileOf(server);
      const isFound = file === undefined || file === foundFile;
      const which = isDemo ? " --endpoint" : isFound ? "" : ` --config ${shellWord(file)}`;
      return `${program} ${verb} ${shellWord(server)}${which}`;
    },
    check: (server) => checkFile(fileOf(server)),
    checkFile,
  };
}
