import { printableText } from "@wirescope/channelz/internal";
import { ToolServerError } from "@wirescope/tool-server";
import { describeProblem } from "@wirescope/tool-server/internal/errors";
import type { Io } from "../io.js";
import { formatJson, jsonOf } from "../output/json.js";
import type { Screen } from "../output/screen.js";
import type { ServerClient, UsableServers } from "./usable-servers.js";

/** The result from a server: a value, or why it failed. */
type ServerOutcome<T> =
  | { readonly server: string; readonly value: T; readonly omitted: readonly string[] }
  | { readonly server: string; readonly error: ToolServerError };

/**
 * Runs a task on all servers in parallel; one that fails does not affect the others. Connections are opened one after the other
 * before that, because each may prompt at the terminal.
 */
async function withEachServer<T>(
  servers: UsableServers,
  { names, methods = [], task }: Pick<Listing<T, unknown>, "names" | "methods" | "task">,
): Promise<ServerOutcome<T>[]> {
  const opened: (() => Promise<ServerOutcome<T>>)[] = [];
  for (const server of names) {
    try {
      const connection = await servers.open(server);
      opened.push(async () => {
        const value = await task(connection);
        return { server, value, omitted: connection.omitted(methods) };
      });
    } catch (error) {
      // A usage error, not a failed server.
      if (ToolServerError.is(error) && error.code === "SERVER_UNKNOWN") throw error;
      const outcome = failed(server, error);
      opened.push(async () => outcome);
    }
  }
  return Promise.all(opened.map((run, index) => run().catch((error: unknown) => failed(names[index] ?? "", error))));
}

/** What to read from each server, and how to show it. */
export interface Listing<T, R> {
  readonly names: readonly string[];
  /** The methods of the lists that the task reads. Default: none. */
  readonly methods?: readonly string[];
  task(server: ServerClient): Promise<T>;
  toJson(value: T): unknown;
  rowsOf(value: T, server: string): readonly R[];
  render(rows: readonly R[]): readonly string[];
  /** What to print if there are no rows and no server failed. */
  readonly empty: string;
}

interface ListingContext {
  readonly servers: UsableServers;
  readonly screen: Screen;
  readonly io: Io;
  readonly values: { readonly json: boolean };
}

/** Reads from several servers at once and prints the results as one table or as JSON. Returns the exit code: 1 if a server failed. */
export async function printListing<T, R>(
  { servers, screen, io, values }: ListingContext,
  listing: Listing<T, R>,
): Promise<number> {
  const { toJson, rowsOf, render, empty } = listing;
  const outcomes = await withEachServer(servers, listing);
  const hasFailed = outcomes.some((outcome) => "error" in outcome);
  for (const outcome of outcomes) {
    if (!("omitted" in outcome) || outcome.omitted.length === 0) continue;
    const text = `${outcome.server}: omitted because of invalid values: ${outcome.omitted.join(", ")}.`;
    io.stderr.write(`wirescope: ${printableText(text)}\n`);
  }
  if (values.json) {
    const all = outcomes.map((outcome) => [
      outcome.server,
      "value" in outcome
        ? toJson(outcome.value)
        : { error: { code: outcome.error.code, message: outcome.error.message } },
    ]);
    screen.print(formatJson(jsonOf(Object.fromEntries(all))));
    return hasFailed ? 1 : 0;
  }
  const advised = new Set<string>();
  for (const outcome of outcomes) {
    if (!("error" in outcome)) continue;
    const { error } = outcome;
    // The same advice for several servers is given once.
    const text = advised.has(error.advice) ? describeProblem(error) : error.message;
    advised.add(error.advice);
    io.stderr.write(`wirescope: ${printableText(text)}\n`);
  }
  const rows = outcomes.flatMap((outcome) => ("value" in outcome ? rowsOf(outcome.value, outcome.server) : []));
  if (rows.length > 0) screen.printAll(render(rows));
  else if (!hasFailed) screen.print(empty);
  return hasFailed ? 1 : 0;
}

function failed(server: string, error: unknown): { readonly server: string; readonly error: ToolServerError } {
  if (!ToolServerError.is(error)) throw error;
  return { server, error };
}
