import { shellWord } from "../shell-word.js";
/** The commands by which a person looks after a server behind the gateway, ready to be copied. */
export interface ServerCommands {
  /** How commands begin. */
  readonly program: string;
  /** A command about a server, such as `why`. */
  about(verb: string, server: string): string;
  /** The check of the configuration that a server is in. */
  check(server: string): string;
  /** The check of a configuration. */
  checkFile(file: string): string;
}

export interface ServerCommandsOptions {
  readonly program: string;
  /** Whether the configurations were named: else they are found by the commands as they were by the gateway. */
  readonly areNamed: boolean;
  /** Whether the demonstration runs: nothing but the gateway knows its servers. */
  readonly isDemo: boolean;
  /** The configuration that a server is in. */
  readonly fileOf: (server: string) => string | undefined;
}

/** Makes commands that mean the servers of this gateway, whatever other configuration is where they are run. */
export function createServerCommands(options: ServerCommandsOptions): ServerCommands {
  const { program, areNamed, isDemo, fileOf } = options;
  const checkFile = (file: string | undefined): string =>
    areNamed && file !== undefined ? `${program} check ${shellWord(file)}` : `${program} check`;
  return {
    program,
    about(verb, server) {
      const file = areNamed ? fileOf(server) : undefined;
      const which = isDemo ? " --endpoint" : file === undefined ? "" : ` --config ${shellWord(file)}`;
      return `${program} ${verb} ${shellWord(server)}${which}`;
    },
    check: (server) => checkFile(fileOf(server)),
    checkFile,
  };
}
