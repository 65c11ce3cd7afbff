/**
 * How the messages of a call lie in a body.
 *
 * `grpc`, `grpc-web` and `connect-stream` put each message into an envelope of five bytes; the last two end with an envelope
 * that holds the status. A `unary` body of Connect is a message, also where it is empty. In every other body there is one
 * message, if there is a body.
 */
export type BodyShape = "grpc" | "grpc-web" | "connect-stream" | "unary" | "whole";

/** The shape that a content type announces. */
export function bodyShapeOf(contentType: unknown): BodyShape {
  if (typeof contentType !== "string" || !contentType.startsWith("application/")) return "whole";
  if (contentType.startsWith("application/grpc-web")) {
    // The text variant is base64; its envelopes cannot be told without decoding all of it.
    return contentType.startsWith("application/grpc-web-text") ? "whole" : "grpc-web";
  }
  if (contentType.startsWith("application/grpc")) return "grpc";
  if (contentType === "application/proto") return "unary";
  return contentType.startsWith("application/connect+") ? "connect-stream" : "whole";
}

/** The flag of an envelope that holds the status instead of a message; 0 where there is none. */
export function statusFlagOf(shape: BodyShape): number {
  if (shape === "grpc-web") return 0x80;
  return shape === "connect-stream" ? 0x02 : 0;
}
