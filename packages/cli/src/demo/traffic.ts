import { setTimeout as pause } from "node:timers/promises";
import type { Gateway } from "@wirescope/gateway/internal";
import { connectToolServer, ToolServerError } from "@wirescope/tool-server";

const pauseMs = 2000;
const calls = [
  { name: "clock__now", arguments: {} },
  { name: "weather__forecast", arguments: { city: "Bern" } },
  { name: "clock__until", arguments: { date: "2030-01-01" } },
  { name: "notes__list", arguments: {} },
];

/** A client of the gateway that calls a tool every two seconds until the signal aborts. Failed calls are part of the demonstration. */
export async function keepCalling({ endpoint, token }: Gateway, stop: AbortSignal): Promise<void> {
  if (endpoint === undefined) return;
  const headers: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const client = { info: { name: "visitor", version: "1.0.0" } };
  const ignoreFailure = (error: unknown): void => {
    if (!ToolServerError.is(error)) throw error;
  };
  const connecting = connectToolServer({ url: endpoint, headers }, { name: "visitor", client, signal: stop });
  await using connection = (await connecting.catch(ignoreFailure)) ?? null;
  for (let count = 0; connection !== null && !stop.aborted; count += 1) {
    await connection.callTool(calls[count % calls.length] ?? { name: "" }, { signal: stop }).catch(ignoreFailure);
    await pause(pauseMs, undefined, { signal: stop }).catch(() => {});
  }
}
