/**
 * How a body contains the messages of a call.
 *
 * `grpc`, `grpc-web` and `connect-stream` prefix each message with a five-byte envelope header; the last two end with an envelope
 * that contains the status. `unary` is Connect's: the body is one message, even if it is empty. `whole` is any other body: one
 * message, unless it is empty. With `none`, the body is not a message.
 */
export type BodyShape = "grpc" | "grpc-web" | "connect-stream" | "unary" | "whole" | "none";

/** The last result, because most calls of a process have the same content type. */
let lastType: unknown;
let lastShape: BodyShape = "whole";

export function bodyShapeOf(contentType: unknown): BodyShape {
  if (contentType === lastType) return lastShape;
  lastShape = readShape(contentType);
  lastType = contentType;
  return lastShape;
}

function readShape(contentType: unknown): BodyShape {
  if (typeof contentType !== "string" || !contentType.startsWith("application/")) return "whole";
  if (contentType.startsWith("application/grpc-web")) {
    // The text variant is base64; finding its envelopes would require decoding the whole body.
    return contentType.startsWith("application/grpc-web-text") ? "whole" : "grpc-web";
  }
  if (contentType.startsWith("application/grpc")) return "grpc";
  if (contentType === "application/proto") return "unary";
  return contentType.startsWith("application/connect+") ? "connect-stream" : "whole";
}

/** The shape of a request body. JSON is a Connect message only if the request has a Connect-Protocol-Version header. */
export function requestShapeOf(headers: { readonly [name: string]: unknown } | undefined): BodyShape {
  const contentType = headers?.["content-type"];
  const shape = bodyShapeOf(contentType);
  if (shape !== "whole" || contentType === undefined) return shape;
  return headers?.["connect-protocol-version"] === undefined ? shape : "unary";
}

/** Whether this is a Connect GET request, which has its message in the query string. */
export function isConnectGet(method: unknown, path: unknown): boolean {
  return method === "GET" && typeof path === "string" && /[?&]connect=v1(?:&|$)/.test(path);
}

/**
 * The shape of a response body. A response to a call that does not follow the call's protocol, such as the JSON of a Connect error
 * or the error page of a proxy, is not a message. For plain HTTP, every body is one.
 */
export function responseShapeOf(
  requestShape: BodyShape,
  contentType: unknown,
  httpStatus: number | undefined,
): BodyShape {
  const shape = bodyShapeOf(contentType);
  if (requestShape === "whole") return shape;
  if (httpStatus !== 200) return "none";
  if (requestShape !== "unary") return shape === "whole" || shape === "unary" ? "none" : shape;
  return typeof contentType === "string" && contentType.startsWith("application/") ? "unary" : "none";
}

/** The envelope flag that marks a status instead of a message; 0 if the shape has none. */
export function statusFlagOf(shape: BodyShape): number {
  if (shape === "grpc-web") return 0x80;
  return shape === "connect-stream" ? 0x02 : 0;
}
