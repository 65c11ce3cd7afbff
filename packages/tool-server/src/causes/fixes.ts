import { commandLine, shellWord } from "../command-line.js";
import type { Fix } from "./cause-table.js";

/** What a fix applies to: the server, and its entry in the configuration if that is known. */
export interface FixTarget {
  readonly server: string;
  /** The configuration file. */
  readonly file?: string | undefined;
  /** The positions of the entry's fields, such as `url` or `headers.Authorization`; `entry` is its name. */
  readonly positions?: Readonly<Record<string, { readonly line: number; readonly column: number }>> | undefined;
  /** Whether a gateway uses the server, so that the commands go through it. Default false. */
  readonly isGateway?: boolean | undefined;
  /** Additional arguments for `wirescope` commands, such as `--config`. */
  readonly commandArguments?: readonly string[] | undefined;
  /** The same for commands that use tokens, such as `--profile`. */
  readonly signInArguments?: readonly string[] | undefined;
}

/** A fix in one sentence. `export` is left out: an error does not know which process has to read the variable. */
export function formatFix({ advice, command, variable }: Fix): string {
  return command === undefined || variable !== undefined ? advice : `${advice.replace(/\.$/, "")}: ${command}`;
}

/** Changes the configuration, at the position of a field. */
export function fixField({ file, positions }: FixTarget, field: string, advice: string, write?: string): Fix {
  const at = positions?.[field] ?? positions?.entry;
  const position = at === undefined || file === undefined ? undefined : { file, line: at.line, column: at.column };
  return { advice, position, ...(write === undefined ? {} : { write }) };
}

/** Sets a variable to a new value; `value` is an example, by default `…`. */
export function fixVariable(variable: string, advice: string, value = "…"): Fix {
  return { advice, command: `export ${variable}=${value}`, variable };
}

/** Runs one or more `wirescope` commands for the server, with these options in addition to those that find it. */
export function fixByCommand(
  target: FixTarget,
  verbs: readonly string[],
  advice: string,
  options: readonly string[] = [],
): Fix {
  const { server, isGateway = false, commandArguments = [], signInArguments = [] } = target;
  const commands = verbs.map((given) => {
    // `ping` does not know the servers behind a gateway; the gateway itself has to reconnect.
    const verb = given === "ping" && isGateway ? "reconnect" : given;
    // `trust` uses no tokens, so it takes no profile.
    const more = verb === "trust" ? [] : signInArguments;
    return commandLine(verb, server, ...commandArguments, ...more, ...options);
  });
  return { advice, command: commands.join(" && ") };
}

/** Runs the helper script by hand. */
export function fixHelper(path: string, advice: string): Fix {
  return { advice, command: shellWord(path) };
}

/** Registers an OAuth client by hand. */
export function fixByRegistration({ server }: FixTarget): Fix {
  return {
    advice:
      "Ask the operator of the authorization server to register a client, and put its id into wirescope/oauth.json in your configuration folder.",
    write: `${JSON.stringify(server)}: {"clientId": "…"}`,
  };
}

/** Replaces the token in the headers of the entry by a sign-in. */
export function fixBySignIn(
  target: FixTarget,
  { headers, canRegister }: { readonly headers: readonly string[]; readonly canRegister: boolean },
): Fix {
  const [first = ""] = headers;
  const remove = `emove ${headers.join(" and ")} from the headers of the entry, then sign in.`;
  const { position } = fixField(target, `headers.${first}`, "");
  if (canRegister) return { ...fixByCommand(target, ["login"], `R${remove}`), position };
  const client = fixByRegistration(target);
  return {
    ...client,
    advice: `${client.advice} Then r${remove}`,
    command: fixByCommand(target, ["login"], "").command,
  };
}

/** Connects through `wirescope bridge`, which sends a client certificate. */
export function fixByBridge(target: FixTarget): Fix {
  const write =
    '"command": "wirescope", "args": ["bridge", "--cert", "${CLIENT_CERT}", "--key", "${CLIENT_KEY}", "<url>"]';
  return fixField(target, "entry", "Connect through the bridge, which sends a client certificate.", write);
}
