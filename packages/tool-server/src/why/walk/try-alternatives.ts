import type { NetworkType } from "../../config/entry.js";
import { parseMessages } from "../../connection/rpc/message.js";
import { ToolServerError } from "../../errors.js";
import { createEventStreamParser } from "../../http/event-stream.js";
import type { HttpClient, HttpResponse } from "../../http/http-client.js";
import type { Alternative, AttemptFacts } from "../facts.js";
import { within } from "./time-limit.js";
import type { Walk } from "./walk.js";

/** How long one try may take, in milliseconds, and how many may come to nothing by that. */
const tryMs = 3000;
const mostSilent = 2;
const readBytes = 64 * 1024;

/** Whether an attempt failed so that a tool server may be next door: what answered was something else. */
export function mayBeNextDoor({ failure, answer, connected }: AttemptFacts): boolean {
  if (failure === undefined || connected !== undefined) return false;
  const status = failure.status ?? answer?.status ?? 0;
  if (failure.code === "NOT_A_TOOL_SERVER") return true;
  return failure.code === "SERVER_FAILED" && [400, 404, 405, 406, 410, 415, 426, 501].includes(status);
}

/**
 * Looks whether something speaks the protocol at the url by another type, or at another usual path of the same origin. It asks
 * without credentials, and for nothing but a sign of life. Undefined where nothing does.
 */
export async function tryAlternatives(
  walk: Walk,
  url: URL,
  type: NetworkType,
  http: HttpClient,
): Promise<Alternative | undefined> {
  let silent = 0;
  for (const candidate of candidatesOf(url, type)) {
    if (silent === mostSilent || walk.signal.aborted) break;
    await walk.ensureTrusted();
    const evidence = await tryOne(walk, candidate, http);
    if (evidence === "silence") silent += 1;
    if (evidence === undefined || evidence === "silence") continue;
    const { origin, pathname, search } = candidate.url;
    return { type: candidate.type, url: walk.redact(`${origin}${pathname}${search}`), evidence };
  }
  return undefined;
}

interface Candidate {
  readonly url: URL;
  readonly type: "http" | "sse";
}

/** Where else a server may be, the likeliest first. */
export function candidatesOf(given: URL, type: NetworkType): Candidate[] {
  const url = new URL(given);
  url.hash = "";
  url.protocol = url.protocol.replace("ws", "http");
  const at = (pathname: string): URL => Object.assign(new URL(url), { pathname });
  const path = url.pathname.replace(/\/$/, "");
  const isAskedFor = ({ url: place, type: kind }: Candidate): boolean => place.href === url.href && kind === type;
  const paths = [
    url.pathname,
    ...(path === "" ? [] : [url.pathname.endsWith("/") ? path : `${path}/`]),
    "/mcp",
    "/sse",
    ...(path === "" ? [] : [`${path}/mcp`, `${path}/sse`]),
    "/",
  ];
  const candidates = paths.flatMap((pathname): Candidate[] => {
    const isOld = pathname.endsWith("/sse");
    const kinds: Candidate["type"][] = pathname === url.pathname ? ["http", "sse"] : [isOld ? "sse" : "http"];
    return kinds.map((kind) => ({ url: at(pathname), type: kind }));
  });
  const seen = new Set<string>();
  return candidates.filter((candidate) => {
    const key = `${candidate.type} ${candidate.url.href}`;
    return !isAskedFor(candidate) && !seen.has(key) && seen.add(key);
  });
}

const ping = JSON.stringify({ jsonrpc: "2.0", id: "wirescope-why", method: "ping" });

/** What shows that a server of this type is there, or that nothing answers; undefined where something else does. */
async function tryOne(walk: Walk, { url, type }: Candidate, http: HttpClient): Promise<string | "silence" | undefined> {
  const isOld = type === "sse";
  let answer: HttpResponse | undefined;
  try {
    return await within(
      walk,
      async (signal) => {
        answer = await http.send({
          method: isOld ? "GET" : "POST",
          url,
          headers: isOld
            ? { accept: "text/event-stream" }
            : { accept: "application/json, text/event-stream", "content-type": "application/json" },
          body: isOld ? undefined : ping,
          signal,
          isSafe: true,
        });
        return await (isOld ? endpointEvent(answer) : messageOf(answer));
      },
      Math.min(tryMs, walk.answerMs),
    );
  } catch (error) {
    return ToolServerError.is(error, "CALL_TIMEOUT") ? "silence" : undefined;
  } finally {
    answer?.discard();
  }
}

/** Whether the answer is one of JSON-RPC, be it a refusal. */
async function messageOf(answer: HttpResponse): Promise<string | undefined> {
  const { status, headers } = answer;
  const type = headers["content-type"] ?? "";
  if (status === 401) return "it answers 401, and so asks who is there";
  if (status === 200 && type.startsWith("text/event-stream")) return "it answers a ping with a stream of events";
  if (!/json/i.test(type)) return undefined;
  return parseMessages(await answer.text(readBytes)) === undefined
    ? undefined
    : `it answers a ping with a message of JSON-RPC (status ${status})`;
}

/** Whether the answer is a stream whose first event says where to post. */
async function endpointEvent(answer: HttpResponse): Promise<string | undefined> {
  const { status, headers } = answer;
  if (status !== 200 || !(headers["content-type"] ?? "").startsWith("text/event-stream")) return undefined;
  let isFound = false;
  const parser = createEventStreamParser({
    limitBytes: readBytes,
    onEvent: ({ type }) => {
      isFound ||= type === "endpoint";
    },
  });
  await answer
    .read((chunk) => {
      parser.push(chunk);
      if (isFound) throw new RangeError("It is enough.");
    })
    .catch(() => {});
  return isFound ? "its stream of events begins with the endpoint of HTTP with SSE" : undefined;
}
