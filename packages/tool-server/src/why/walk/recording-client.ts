import { Canceller } from "../../cancellation.js";
import type { ResponseEvidence } from "../../causes/refusal-evidence.js";
import type { Clock } from "../../clock.js";
import type { HttpClient, HttpRequest, HttpResponse, ResponseHeaders } from "../../http/http-client.js";
import { isPage, textOfPage, titleOfPage } from "../../page-text.js";
import { parseUrl } from "../../url.js";
import type { Walk } from "./walk.js";

/** A request of the walk, and the status and headers of its response. */
export interface RecordedExchange {
  readonly method: string;
  readonly url: URL;
  /** The headers of the request. Contains secrets. */
  readonly sent: Readonly<Record<string, string>>;
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** Whether the peer is the tool server itself, and not its authorization server. */
  readonly isOwn: boolean;
  /** The beginning of the body, as far as it was received, unless it is a message of the protocol. */
  body(): string;
}

export interface RecordingClient extends HttpClient {
  readonly exchanges: readonly RecordedExchange[];
  /** Waits until the beginning of each recorded body was received. */
  settle(): Promise<void>;
}

const keptBytes = 16 * 1024;
const keptMs = 2000;
const protocolTypes = /^(application\/json|text\/event-stream)\b/i;

/** Wraps a client and records its responses. `onExchange` is called for each as it arrives. */
export function createRecordingClient(
  http: HttpClient,
  clock: Clock,
  onExchange: (exchange: RecordedExchange) => void,
): RecordingClient {
  const exchanges: RecordedExchange[] = [];
  const reading = new Set<Promise<void>>();

  /** Wraps a response to keep the beginning of its body, even if the body is not read otherwise. */
  const keepStart = (response: HttpResponse, keep: (chunk: Buffer) => void, onDiscard: () => void): HttpResponse => ({
    status: response.status,
    headers: response.headers,
    contentType: response.contentType,
    socketInfo: response.socketInfo,
    textIfComplete: () => undefined,
    async text(limitBytes) {
      const text = await response.text(limitBytes);
      keep(Buffer.from(text.slice(0, keptBytes), "utf8"));
      return text;
    },
    read: (onChunk) =>
      response.read((chunk) => {
        keep(chunk);
        return onChunk(chunk);
      }),
    discard() {
      onDiscard();
      const read = readStart(response, clock, keep).finally(() => reading.delete(read));
      reading.add(read);
    },
  });

  return {
    exchanges,
    async send(request) {
      const { signal } = request;
      const canceller = new Canceller();
      const cancel = (): void => canceller.cancel(signal?.reason);
      if (signal?.aborted) cancel();
      signal?.addEventListener("abort", cancel);
      const response = await http.send({ ...request, signal: canceller });
      const chunks: Buffer[] = [];
      let bytes = 0;
      const exchange: RecordedExchange = {
        method: request.method,
        url: request.url,
        sent: request.headers,
        status: response.status,
        headers: response.headers,
        isOwn: isOwn(request),
        body: () => Buffer.concat(chunks).subarray(0, keptBytes).toString("utf8"),
      };
      exchanges.push(exchange);
      onExchange(exchange);
      const isGood = response.status >= 200 && response.status < 300;
      if (!exchange.isOwn || (isGood && protocolTypes.test(response.headers["content-type"] ?? ""))) return response;
      const keep = (chunk: Buffer): void => {
        if (bytes < keptBytes) chunks.push(chunk);
        bytes += chunk.length;
      };
      // A request that was refused is cancelled at once, often before its body arrives.
      return keepStart(response, keep, () => signal?.removeEventListener("abort", cancel));
    },
    openSocket: (url, options) => http.openSocket(url, options),
    close: () => http.close(),
    async settle() {
      await Promise.all(reading);
    },
  };
}

/** A request to another server than the tool server names its destination. */
function isOwn({ peer }: HttpRequest): boolean {
  return peer === undefined;
}

/** Reads the beginning of a body, for a limited time, and discards the rest. Never rejects. */
function readStart(response: HttpResponse, clock: Clock, keep: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve) => {
    let bytes = 0;
    let isOver = false;
    const settle = (): void => {
      isOver = true;
      cancelTimeout();
      resolve();
    };
    const cancelTimeout = clock.after(keptMs, settle);
    response
      .read((chunk) => {
        keep(chunk);
        bytes += chunk.length;
        if (isOver || bytes >= keptBytes) throw new RangeError("Enough was read.");
      })
      .then(settle, settle);
  });
}

export function collectResponseEvidence(
  { sanitize }: Pick<Walk, "sanitize">,
  exchange: RecordedExchange,
): ResponseEvidence {
  const { method, url, status, headers } = exchange;
  const body = exchange.body();
  const [mediaType = ""] = (headers["content-type"] ?? "").toLowerCase().split(";");
  const hasMarkup = isPage(body);
  const title = hasMarkup ? sanitize(titleOfPage(body) ?? "", 150) : undefined;
  return {
    method,
    path: sanitize(url.pathname, 200),
    status,
    mediaType: sanitize(mediaType, 100),
    title,
    excerpt: sanitize(hasMarkup ? textOfPage(body) : textOfBody(body), 500),
    location: locationOf(headers.location, url, sanitize),
    retryAfter: headers["retry-after"] === undefined ? undefined : sanitize(headers["retry-after"], 50),
  };
}

/** The text of a body: the error fields of JSON if it has some, otherwise the body itself. */
function textOfBody(body: string): string {
  try {
    const texts = errorTexts(JSON.parse(body), 0);
    return texts.length > 0 ? texts.join(": ") : /\w/.test(body) ? body : "";
  } catch {
    return body;
  }
}

const errorFields = [
  "error",
  "code",
  "title",
  "message",
  "error_description",
  "description",
  "detail",
  "details",
  "reason",
];

function errorTexts(value: unknown, depth: number): string[] {
  if (typeof value === "string") return depth === 0 ? [] : [value];
  if (typeof value !== "object" || value === null || depth > 3) return [];
  if (Array.isArray(value)) return value.slice(0, 3).flatMap((item) => errorTexts(item, depth + 1));
  const fields = new Map(Object.entries(value));
  return [...errorFields, "errors"].flatMap((name) => errorTexts(fields.get(name), depth + 1));
}

/** The target of a redirect, without its query, which may contain secrets. */
function locationOf(location: string | undefined, base: URL, sanitize: Walk["sanitize"]): string | undefined {
  const url = location === undefined ? undefined : parseUrl(location, base);
  if (url === undefined) return undefined;
  const { protocol, host, pathname } = url;
  return sanitize(`${protocol}//${host}${pathname}`, 300);
}
