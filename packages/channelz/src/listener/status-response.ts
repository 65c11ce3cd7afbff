import type { OutgoingHttpHeaders } from "node:http";
import type { IncomingHttpHeaders } from "node:http2";
import type { Code } from "@connectrpc/connect";
import { grpcCode } from "../service/grpc-code.js";
import { trailersOnly } from "../service/grpc-status.js";
import type { RpcStatus } from "../service/rpc-status.js";

/** A complete HTTP response. */
export interface StatusResponse {
  readonly statusCode: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer;
}

/** The codes that a listener itself responds with, as Connect names and HTTP status codes. */
const httpStatus: Readonly<Partial<Record<Code, readonly [connectName: string, statusCode: number]>>> = {
  [grpcCode.invalidArgument]: ["invalid_argument", 400],
  [grpcCode.unauthenticated]: ["unauthenticated", 401],
  [grpcCode.permissionDenied]: ["permission_denied", 403],
  [grpcCode.unimplemented]: ["unimplemented", 404],
  [grpcCode.resourceExhausted]: ["resource_exhausted", 413],
  [grpcCode.unavailable]: ["unavailable", 503],
};

/** A status in the protocol of the client: gRPC, gRPC-Web, Connect, or plain text if it uses none of them. */
export function statusResponse(
  status: RpcStatus,
  method: string,
  headers: IncomingHttpHeaders,
  path: string,
): StatusResponse {
  const contentType = (headers["content-type"] ?? "").toLowerCase();
  const [connectName, statusCode] = httpStatus[status.code] ?? ["internal", 500];
  const challenge: OutgoingHttpHeaders =
    status.code === grpcCode.unauthenticated ? { "www-authenticate": "Bearer" } : {};
  const error = { code: connectName, message: status.message };
  if (contentType.startsWith("application/grpc")) {
    const { ":status": _, ...rest } = trailersOnly(status, contentType.split(";", 1)[0]);
    return { statusCode: 200, headers: rest, body: Buffer.alloc(0) };
  }
  if (contentType.startsWith("application/connect+")) {
    const end = Buffer.from(JSON.stringify({ error }));
    const frame = Buffer.alloc(5);
    frame[0] = 2;
    frame.writeUInt32BE(end.length, 1);
    return { statusCode: 200, headers: { "content-type": contentType }, body: Buffer.concat([frame, end]) };
  }
  if (speaksConnect(method, contentType, path)) {
    const body = Buffer.from(JSON.stringify(error));
    return { statusCode, headers: { ...challenge, "content-type": "application/json" }, body };
  }
  const body = method === "HEAD" ? Buffer.alloc(0) : Buffer.from(`${status.message}\n`);
  return { statusCode, headers: { ...challenge, "content-type": "text/plain; charset=utf-8" }, body };
}

function speaksConnect(method: string, contentType: string, path: string): boolean {
  if (method === "GET") return /[?&](connect=v1|encoding=)/.test(path);
  return method === "POST" && /^application\/(json|proto)\b/.test(contentType);
}
