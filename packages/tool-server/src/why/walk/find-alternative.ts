import type { NetworkType } from "../../config/entry.js";
import { parseMessages } from "../../connection/rpc/message.js";
import { ToolServerError } from "../../errors.js";
import { createEventStreamParser } from "../../http/event-stream.js";
import type { HttpClient, HttpResponse } from "../../http/http-client.js";
import type { Alternative, AttemptEvidence } from "../evidence.js";
import { type Walk, within } from "./walk.js";

/** The timeout of one request, in milliseconds, and the maximum number of timeouts. */
const tryMs = 3000;
const maxTimeouts = 2;
const readBytes = 64 * 1024;

/** Whether no tool server responded, so that the server may be at another path or have another type. */
export function mayBeElsewhere({ failure, response, connected }: AttemptEvidence): boolean {
  if (failure === undefined || connected !== undefined) return false;
  const status = failure.status ?? response?.status ?? 0;
  if (failure.code === "NOT_A_TOOL_SERVER") return true;
  return failure.code === "SERVER_FAILED" && [400, 404, 405, 406, 410, 415, 426, 501].includes(status);
}

/**
 * Checks whether a tool server responds at the url with another type, or at another usual path of the same origin. It sends a
 * ping without credentials. Undefined if none does.
 */
export async function findAlternative(
  walk: Walk,
  url: URL,
  type: NetworkType,
  http: HttpClient,
): Promise<Alternative | undefined> {
  let timeouts = 0;
  for (const candidate of candidatesOf(url, type)) {
    if (timeouts === maxTimeouts || walk.signal.aborted) break;
    await walk.ensureTrusted();
    const evidence = await tryOne(walk, candidate, http);
    if (evidence === "timeout") timeouts += 1;
    if (evidence === undefined || evidence === "timeout") continue;
    const { origin, pathname, search } = candidate.url;
    return { type: candidate.type, url: walk.redact(`${origin}${pathname}${search}`), evidence };
  }
  return undefined;
}

interface Candidate {
  readonly url: URL;
  readonly type: "http" | "sse";
}

/** Other urls and types of a server, the likeliest first. */
export function candidatesOf(given: URL, type: NetworkType): Candidate[] {
  const url = new URL(given);
  url.hash = "";
  url.protocol = url.protocol.replace("ws", "http");
  const at = (pathname: string): URL => Object.assign(new URL(url), { pathname });
  const path = url.pathname.replace(/\/$/, "");
  const isGiven = (candidate: Candidate): boolean => candidate.url.href === url.href && candidate.type === type;
  const other = url.pathname.endsWith("/") ? path : `${path}/`;
  const paths = [url.pathname, other, "/mcp", "/sse", `${path}/mcp`, `${path}/sse`, "/"];
  const candidates = paths.flatMap((pathname): Candidate[] => {
    const isLegacy = pathname.endsWith("/sse");
    const kinds: Candidate["type"][] = pathname === url.pathname ? ["http", "sse"] : [isLegacy ? "sse" : "http"];
    return kinds.map((kind) => ({ url: at(pathname), type: kind }));
  });
  const seen = new Set<string>();
  return candidates.filter((candidate) => {
    const key = `${candidate.type} ${candidate.url.href}`;
    return !isGiven(candidate) && !seen.has(key) && seen.add(key);
  });
}

const ping = JSON.stringify({ jsonrpc: "2.0", id: "wirescope-why", method: "ping" });

/** What shows that a server of this type responds, or that the request timed out; undefined if something else responds. */
async function tryOne(walk: Walk, { url, type }: Candidate, http: HttpClient): Promise<string | "timeout" | undefined> {
  const isLegacy = type === "sse";
  let response: HttpResponse | undefined;
  try {
    return await within(
      walk,
      async (signal) => {
        response = await http.send({
          method: isLegacy ? "GET" : "POST",
          url,
          headers: isLegacy
            ? { accept: "text/event-stream" }
            : { accept: "application/json, text/event-stream", "content-type": "application/json" },
          body: isLegacy ? undefined : ping,
          signal,
          isSafe: true,
        });
        return await (isLegacy ? endpointEvent(response) : messageOf(response));
      },
      Math.min(tryMs, walk.responseMs),
    );
  } catch (error) {
    return ToolServerError.is(error, "CALL_TIMEOUT") ? "timeout" : undefined;
  } finally {
    response?.discard();
  }
}

/** Whether the response is a JSON-RPC message, or a 401. */
async function messageOf(response: HttpResponse): Promise<string | undefined> {
  const { status, headers } = response;
  const type = headers["content-type"] ?? "";
  if (status === 401) return "a ping returns 401";
  if (status === 200 && type.startsWith("text/event-stream")) return "a ping returns an event stream";
  if (!/json/i.test(type)) return undefined;
  return parseMessages(await response.text(readBytes)) === undefined
    ? undefined
    : `a ping returns a JSON-RPC message (status ${status})`;
}

/** Whether the response is an event stream that begins with an endpoint event. */
async function endpointEvent(response: HttpResponse): Promise<string | undefined> {
  const { status, headers } = response;
  if (status !== 200 || !(headers["content-type"] ?? "").startsWith("text/event-stream")) return undefined;
  let isFound = false;
  const parser = createEventStreamParser({
    limitBytes: readBytes,
    onEvent: ({ type }) => {
      isFound ||= type === "endpoint";
    },
  });
  await response
    .read((chunk) => {
      parser.push(chunk);
      if (isFound) throw new RangeError("Enough was read.");
    })
    .catch(() => {});
  return isFound ? "the event stream begins with the endpoint event of HTTP with SSE" : undefined;
}
