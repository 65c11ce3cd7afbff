import { createHash, timingSafeEqual } from "node:crypto";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { adminHeader } from "./client/admin-header.js";

/** Throws unless a request brings the administrator's token, which clients of the endpoint do not have. */
export function createAdministratorCheck(adminToken: string): (context: HandlerContext) => void {
  const expected = digest(adminToken);
  return ({ requestHeader }) => {
    if (timingSafeEqual(digest(requestHeader.get(adminHeader) ?? ""), expected)) return;
    throw new ConnectError(
      `This needs the administrator's token of the gateway, in the header ${adminHeader}: it changes something or starts a program, and the token of clients is not enough. The commands of the user who started the gateway find the token by themselves.`,
      Code.PermissionDenied,
    );
  };
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
