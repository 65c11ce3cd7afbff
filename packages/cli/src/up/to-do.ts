import type { ServerStatus } from "@wirescope/gateway";

/** What a person can do about a server that does not work. */
export interface ToDo {
  readonly server: string;
  /** What is the matter, in a sentence. */
  readonly problem: string;
  /** The command or link that mends it, or that says more. */
  readonly command: string;
}

/** What is to be done, in the order of the servers; nothing for those that work. */
export function toDoOf(servers: readonly ServerStatus[], program: string, linkFor: (server: string) => string): ToDo[] {
  return servers.flatMap(({ name, failure, state }): ToDo[] => {
    if (failure === undefined || state === "READY") return [];
    const command = (verb: string): string => `${program} ${verb} ${quoted(name)}`;
    switch (failure.code) {
      case "NOT_TRUSTED":
        return [{ server: name, problem: "is not approved yet", command: command("trust") }];
      case "SIGN_IN_NEEDED":
        return [{ server: name, problem: "wants you to sign in; open", command: linkFor(name) }];
      case "ENTRY_INVALID":
      case "VARIABLE_UNUSABLE":
        return [{ server: name, problem: afterFirstSentence(failure.message), command: `${program} check` }];
      default:
        return [{ server: name, problem: firstSentence(failure.message), command: command("why") }];
    }
  });
}

function firstSentence(text: string): string {
  return /^.*?\.(?= |$)/s.exec(text)?.[0] ?? text;
}

/** The message of an entry begins with the server's name, which stands there already; what is wrong comes then. */
function afterFirstSentence(text: string): string {
  return text.slice(firstSentence(text).length).trim() || text;
}

function quoted(name: string): string {
  return /^[\w.-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
}
