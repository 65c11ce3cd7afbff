import { Code, ConnectError } from "@connectrpc/connect";
import type { UniversalServerRequest, UniversalServerResponse } from "@connectrpc/connect/protocol";

const textType = /^application\/grpc-web-text(?=$|[+;])/i;

/** Whether a request is gRPC-Web in its text form (base64), which Connect does not support. */
export function isGrpcWebText({ header }: UniversalServerRequest): boolean {
  return textType.test(header.get("content-type") ?? "");
}

/** The request in the binary form of gRPC-Web. */
export function binaryRequest(request: UniversalServerRequest): UniversalServerRequest {
  const header = new Headers(request.header);
  header.set("content-type", (header.get("content-type") ?? "").replace(textType, "application/grpc-web"));
  header.delete("content-length");
  return { ...request, header, body: decode(request.body as AsyncIterable<Uint8Array>) };
}

/** The response in the text form of gRPC-Web. */
export function textResponse(response: UniversalServerResponse): UniversalServerResponse {
  const header = new Headers(response.header);
  const contentType = header.get("content-type") ?? "";
  if (!/^application\/grpc-web(?=$|[+;])/i.test(contentType)) return response;
  header.set("content-type", contentType.replace(/^application\/grpc-web/i, "application/grpc-web-text"));
  header.delete("content-length");
  const { body } = response;
  return { ...response, header, ...(body !== undefined && { body: encode(body) }) };
}

/** Decodes a base64 stream. Each part that the client flushed may end with padding. */
async function* decode(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let rest = "";
  for await (const piece of pieces) {
    rest += Buffer.from(piece).toString("latin1");
    const end = rest.length - (rest.length % 4);
    for (const part of rest.slice(0, end).split(/(?<==)(?!=)/)) {
      if (!/^[A-Za-z0-9+/]*={0,2}$/.test(part) || part.length % 4 !== 0) throw malformed();
      if (part !== "") yield Buffer.from(part, "base64");
    }
    rest = rest.slice(end);
  }
  if (rest !== "") throw malformed();
}

/** Encodes each piece separately, so that the client can decode it as soon as it arrives. */
async function* encode(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    if (piece.length > 0) yield Buffer.from(Buffer.from(piece).toString("base64"), "latin1");
  }
}

function malformed(): ConnectError {
  return new ConnectError("The body of application/grpc-web-text is not base64.", Code.InvalidArgument);
}
