/**
 * How the messages of a call lie in a body.
 *
 * `grpc`, `grpc-web` and `connect-stream` put each message into an envelope of five bytes; the last two end with an envelope
 * that holds the status. A `unary` body of Connect is a message, also if it is empty. In a `whole` body, which is any
 * other, there is one message, if there is a body. With `none`, what there is of a body is not a message.
 */
export type BodyShape = "grpc" | "grpc-web" | "connect-stream" | "unary" | "whole" | "none";

/** The last result, because most calls of a process have the same content type. */
let lastType: unknown;
let lastShape: BodyShape = "whole";

/** The shape that a content type announces. */
export function bodyShapeOf(contentType: unknown): BodyShape {
  if (contentType === lastType) return lastShape;
  lastShape = readShape(contentType);
  lastType = contentType;
  return lastShape;
}

function readShape(contentType: unknown): BodyShape {
  if (typeof contentType !== "string" || !contentType.startsWith("application/")) return "whole";
  if (contentType.startsWith("application/grpc-web")) {
    // The text variant is base64; its envelopes cannot be recognised without decoding all of it.
    return contentType.startsWith("application/grpc-web-text") ? "whole" : "grpc-web";
  }
  if (contentType.startsWith("application/grpc")) return "grpc";
  if (contentType === "application/proto") return "unary";
  return contentType.startsWith("application/connect+") ? "connect-stream" : "whole";
}

/** The shape of a request body. JSON is a Connect message only if the request names the version of Connect. */
export function questionShapeOf(headers: { readonly [name: string]: unknown } | undefined): BodyShape {
  const contentType = headers?.["content-type"];
  const shape = bodyShapeOf(contentType);
  if (shape !== "whole" || contentType === undefined) return shape;
  return headers?.["connect-protocol-version"] === undefined ? shape : "unary";
}

/** Whether the request message is in the path, as in a Connect GET for a method without side effects. */
export function isAskedInPath(method: unknown, path: unknown): boolean {
  return method === "GET" && typeof path === "string" && /[?&]connect=v1(?:&|$)/.test(path);
}

/**
 * The shape of the response to a request. What responds to a call in another way than its protocol, such as the JSON of
 * Connect's errors or the page of a proxy, says why it failed and is no message. Plain HTTP has no such difference.
 */
export function responseShapeOf(question: BodyShape, contentType: unknown, httpStatus: number | undefined): BodyShape {
  const shape = bodyShapeOf(contentType);
  if (question === "whole") return shape;
  if (httpStatus !== 200) return "none";
  if (question !== "unary") return shape === "whole" || shape === "unary" ? "none" : shape;
  return typeof contentType === "string" && contentType.startsWith("application/") ? "unary" : "none";
}

/** The flag of an envelope that holds the status instead of a message; 0 if it has none. */
export function statusFlagOf(shape: BodyShape): number {
  if (shape === "grpc-web") return 0x80;
  return shape === "connect-stream" ? 0x02 : 0;
}
