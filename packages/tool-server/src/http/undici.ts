import type { Client } from "undici";

let loading: Promise<typeof Client> | undefined;

/** Loads undici with the first connection: a process without an HTTP server does not pay for it, and others not at their start. */
export function loadClient(): Promise<typeof Client> {
  loading ??= import("undici").then((undici) => undici.Client);
  return loading;
}
