import { printableText } from "@wirescope/channelz/internal";
import { type Connection, ToolServerError } from "@wirescope/tool-server";
import type { Io } from "../io.js";
import type { ConfiguredServers } from "./configured-servers.js";

/** What came of a server: a value, or why there is none. */
export type ServerOutcome<T> =
  | { readonly server: string; readonly value: T }
  | { readonly server: string; readonly error: ToolServerError };

/**
 * Does a task with each server at once; one that fails does not keep the others. Trust is asked for first, one after the other: a
 * task may ask a person as well.
 */
export async function withEachServer<T>(
  servers: ConfiguredServers,
  names: readonly string[],
  task: (connection: Connection) => Promise<T>,
): Promise<ServerOutcome<T>[]> {
  const opened: (() => Promise<ServerOutcome<T>>)[] = [];
  for (const server of names) {
    try {
      const connection = await servers.open(server);
      opened.push(async () => ({ server, value: await task(connection) }));
    } catch (error) {
      // The command was used wrongly; no server failed.
      if (ToolServerError.is(error) && error.code === "SERVER_UNKNOWN") throw error;
      const outcome = failed(server, error);
      opened.push(async () => outcome);
    }
  }
  return Promise.all(opened.map((run, index) => run().catch((error: unknown) => failed(names[index] ?? "", error))));
}

/** Says on standard error which servers failed, and why; gives whether any did. */
export function reportFailedServers(outcomes: readonly ServerOutcome<unknown>[], io: Io): boolean {
  let hasFailed = false;
  for (const outcome of outcomes) {
    if (!("error" in outcome)) continue;
    hasFailed = true;
    io.stderr.write(`wirescope: ${printableText(outcome.error.message)}\n`);
  }
  return hasFailed;
}

/** An outcome for scripts. */
export function outcomeToJson<T, J>(
  outcome: ServerOutcome<T>,
  valueToJson: (value: T) => J,
): J | { readonly error: { readonly code: string; readonly message: string } } {
  if ("value" in outcome) return valueToJson(outcome.value);
  const { code, message } = outcome.error;
  return { error: { code, message } };
}

function failed(server: string, error: unknown): { readonly server: string; readonly error: ToolServerError } {
  if (!ToolServerError.is(error)) throw error;
  return { server, error };
}
