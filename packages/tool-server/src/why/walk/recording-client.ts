import type { Clock } from "../../clock.js";
import type { HttpClient, HttpRequest, HttpResponse, ResponseHeaders } from "../../http/http-client.js";

/** A request of the walk and the head of its answer. */
export interface SeenExchange {
  readonly method: string;
  readonly url: URL;
  /** What the request carried. Holds secrets. */
  readonly sent: Readonly<Record<string, string>>;
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** Whether it was with the tool server itself, and not with a server that it signs in with. */
  readonly isOwn: boolean;
  /** The beginning of the body, as far as it has come and is none of the protocol. */
  body(): string;
}

/** A client that remembers what it was answered. */
export interface RecordingClient extends HttpClient {
  readonly exchanges: readonly SeenExchange[];
  /** Waits until the beginnings of all bodies that are wanted have come. */
  settle(): Promise<void>;
}

const keptBytes = 16 * 1024;
const keptMs = 2000;
const spoken = /^(application\/json|text\/event-stream)\b/i;

/** Wraps a client so that the answers of a walk can be looked at afterwards. `onExchange` is told of each as it comes. */
export function createRecordingClient(
  http: HttpClient,
  clock: Clock,
  onExchange: (exchange: SeenExchange) => void,
): RecordingClient {
  const exchanges: SeenExchange[] = [];
  const reading = new Set<Promise<void>>();

  /** The same answer, which keeps the beginning of its body, also where nobody else wants it. */
  const keeping = (answer: HttpResponse, keep: (chunk: Buffer) => void): HttpResponse => ({
    status: answer.status,
    headers: answer.headers,
    socketInfo: answer.socketInfo,
    async text(limitBytes) {
      const text = await answer.text(limitBytes);
      keep(Buffer.from(text.slice(0, keptBytes), "utf8"));
      return text;
    },
    read: (onChunk) =>
      answer.read((chunk) => {
        keep(chunk);
        return onChunk(chunk);
      }),
    discard() {
      const read = readStart(answer, clock, keep).finally(() => reading.delete(read));
      reading.add(read);
    },
  });

  return {
    exchanges,
    async send(request) {
      const answer = await http.send(request);
      const chunks: Buffer[] = [];
      let bytes = 0;
      const exchange: SeenExchange = {
        method: request.method,
        url: request.url,
        sent: request.headers,
        status: answer.status,
        headers: answer.headers,
        isOwn: isOwn(request),
        body: () => Buffer.concat(chunks).subarray(0, keptBytes).toString("utf8"),
      };
      exchanges.push(exchange);
      onExchange(exchange);
      const isGood = answer.status >= 200 && answer.status < 300;
      if (!exchange.isOwn || (isGood && spoken.test(answer.headers["content-type"] ?? ""))) return answer;
      return keeping(answer, (chunk) => {
        if (bytes < keptBytes) chunks.push(chunk);
        bytes += chunk.length;
      });
    },
    openSocket: (url, options) => http.openSocket(url, options),
    close: () => http.close(),
    async settle() {
      await Promise.all(reading);
    },
  };
}

/** Requests to others than the server name whom they go to. */
function isOwn({ peer }: HttpRequest): boolean {
  return peer === undefined;
}

/** Reads the beginning of a body, for a while, and lets the rest go. Never rejects. */
function readStart(answer: HttpResponse, clock: Clock, keep: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve) => {
    let bytes = 0;
    let isOver = false;
    const settle = (): void => {
      isOver = true;
      callOff();
      resolve();
    };
    const callOff = clock.after(keptMs, settle);
    answer
      .read((chunk) => {
        keep(chunk);
        bytes += chunk.length;
        if (isOver || bytes >= keptBytes) throw new RangeError("It is enough.");
      })
      .then(settle, settle);
  });
}
