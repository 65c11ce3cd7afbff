import type { AnswerHeaders } from "./http-client.js";

/** Headers by name in lower case, from names and values in turn. */
export function parseAnswerHeaders(raw: readonly Buffer[]): AnswerHeaders {
  const headers: Record<string, string> = Object.create(null);
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index]!.toString("latin1").toLowerCase();
    const value = raw[index + 1]!.toString("latin1");
    const earlier = headers[name];
    headers[name] = earlier === undefined || name === "set-cookie" ? value : `${earlier}, ${value}`;
  }
  return headers;
}

/** One header of those, as `parseAnswerHeaders` gives it; empty where there is none. `name` is in lower case. */
export function readAnswerHeader(raw: readonly Buffer[], name: string): string {
  let value = "";
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const found = raw[index]!;
    if (found.length !== name.length || found.toString("latin1").toLowerCase() !== name) continue;
    const text = raw[index + 1]!.toString("latin1");
    value = value === "" ? text : `${value}, ${text}`;
  }
  return value;
}
