import type { Fallback } from "@wirescope/channelz";

/** A request of either version of HTTP. */
export type HttpRequest = Parameters<Fallback>[0];

/** What an answer takes, in the words that all of them have in common. */
export interface HttpResponse {
  readonly headersSent: boolean;
  readonly writableEnded: boolean;
  /** Whether the system has taken all of it. */
  readonly writableFinished: boolean;
  /** What lies ready for the client, in bytes. */
  readonly writableLength: number;
  readonly destroyed: boolean;
  writeHead(status: number, headers?: Readonly<Record<string, string | number>>): HttpResponse;
  /** HTTP/2 has sent them by then. */
  flushHeaders?(): void;
  write(text: string): boolean;
  end(): unknown;
  end(body: string): unknown;
  on(event: "close", listener: () => void): unknown;
  once(event: "close", listener: () => void): unknown;
  destroy(): unknown;
}

/** Answers a request of HTTP. */
export type HttpHandler = (request: HttpRequest, response: HttpResponse) => void;

/** Whether a client takes answers of a media type. Who says nothing takes all. */
export function accepts(header: string | undefined, type: "application/json" | "text/event-stream"): boolean {
  if (header === undefined || header === "*/*") return true;
  if (header.includes(type)) return true;
  const [family] = type.split("/");
  return header
    .toLowerCase()
    .split(",")
    .map((part) => part.split(";", 1)[0]?.trim())
    .some((range) => range === "*/*" || range === `${family}/*` || range === type);
}

/** Whether the body of a request is JSON by its content type. */
export function isJson(header: string | undefined): boolean {
  if (header === "application/json") return true;
  return header?.split(";", 1)[0]?.trim().toLowerCase() === "application/json";
}

/** Reads the body of a request as text; `then` gets undefined where it is larger than that. Never called where it breaks off. */
export function readBody(request: HttpRequest, limitBytes: number, then: (text: string | undefined) => void): void {
  const announced = Number(request.headers["content-length"] ?? 0);
  if (announced > limitBytes) {
    then(undefined);
    return;
  }
  const chunks: Buffer[] = [];
  let size = 0;
  const onData = (chunk: Buffer): void => {
    size += chunk.length;
    if (size <= limitBytes) {
      chunks.push(chunk);
      return;
    }
    request.off("data", onData);
    request.off("end", onEnd);
    then(undefined);
  };
  const onEnd = (): void => {
    const [only] = chunks;
    then(only !== undefined && chunks.length === 1 ? only.toString("utf8") : Buffer.concat(chunks).toString("utf8"));
  };
  request.on("data", onData);
  request.on("end", onEnd);
}
