import type { HttpRequest } from "./http-exchange.js";

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
