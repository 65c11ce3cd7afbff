import { createHash, timingSafeEqual } from "node:crypto";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { ToolServerError, type ToolServerErrorCode } from "@wirescope/tool-server";
import { FailureSchema, type ListServersRequest } from "../gen/wirescope/v1/admin_pb.js";
import { adminHeader } from "./client/admin-header.js";
import { failureToMessage } from "./messages/server-message.js";

/** The statuses of codes that the caller can act on. All others are UNAVAILABLE. */
const statuses: Partial<Record<ToolServerErrorCode, Code>> = {
  SERVER_UNKNOWN: Code.NotFound,
  ENTRY_INVALID: Code.FailedPrecondition,
  VARIABLE_UNUSABLE: Code.FailedPrecondition,
  CREDENTIAL_UNUSABLE: Code.FailedPrecondition,
  CREDENTIAL_CONFLICT: Code.FailedPrecondition,
  NOT_TRUSTED: Code.FailedPrecondition,
  SIGN_IN_NEEDED: Code.FailedPrecondition,
  SIGN_IN_FAILED: Code.FailedPrecondition,
  ISSUER_CHANGED: Code.FailedPrecondition,
  AUTHORIZATION_ORIGIN_UNCONFIRMED: Code.FailedPrecondition,
  REGISTRATION_REFUSED: Code.FailedPrecondition,
  TOKEN_REFUSED: Code.FailedPrecondition,
  APPROVALS_UNREADABLE: Code.FailedPrecondition,
  CONFIGURATION_UNREADABLE: Code.FailedPrecondition,
  POLICY_UNREADABLE: Code.FailedPrecondition,
  VAULT_UNREADABLE: Code.FailedPrecondition,
  VAULT_KEY_WRONG: Code.FailedPrecondition,
};

/** Converts a failure to a ConnectError, with a status, a message that says what to do, and the code as its detail. */
export function adminErrorOf(error: unknown, redact: (text: string) => string): ConnectError {
  if (error instanceof ConnectError) return error;
  if (!ToolServerError.is(error)) {
    const why = error instanceof Error ? error.message : String(error);
    if (error instanceof Error && error.name === "AbortError") return new ConnectError(redact(why), Code.Canceled);
    return new ConnectError(redact(`Unexpected error: ${why}`), Code.Internal);
  }
  return new ConnectError(redact(error.message), statuses[error.code] ?? Code.Unavailable, undefined, [
    { desc: FailureSchema, value: redactMessage(failureToMessage(error), redact) },
  ]);
}

/**
 * Creates a check that throws unless a request has the administrator's token, which clients of the endpoint do not have, or comes from
 * an administrator's page.
 */
export function createAdministratorCheck(
  adminToken: string,
  isAdministratorPage: (headers: Headers) => boolean,
): (context: HandlerContext) => void {
  const expected = digest(adminToken);
  return ({ requestHeader }) => {
    if (timingSafeEqual(digest(requestHeader.get(adminHeader) ?? ""), expected)) return;
    if (isAdministratorPage(requestHeader)) return;
    throw new ConnectError(
      `This method requires the administrator's token in the header ${adminHeader}, because it changes something or starts a program. The commands of the user who started the gateway find the token automatically.`,
      Code.PermissionDenied,
    );
  };
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

const defaultPageSize = 100;
const maxPageSize = 1000;

/** A page of a list whose items have unique names. The token is the name of the last item. Throws INVALID_ARGUMENT. */
export function pageOf<Item extends { readonly name: string }>(
  all: readonly Item[],
  { pageSize, pageToken }: Pick<ListServersRequest, "pageSize" | "pageToken">,
): { readonly items: readonly Item[]; readonly nextPageToken: string } {
  if (pageSize < 0)
    throw new ConnectError("page_size is negative. Omit it for the default of 100.", Code.InvalidArgument);
  const size = Math.min(pageSize || defaultPageSize, maxPageSize);
  const last = pageToken === "" ? -1 : all.findIndex(({ name }) => name === pageToken);
  if (last < 0 && pageToken !== "") {
    throw new ConnectError("page_token is no longer valid. Start with the first page.", Code.InvalidArgument);
  }
  const items = all.slice(last + 1, last + 1 + size);
  const isLast = last + 1 + size >= all.length;
  return { items, nextPageToken: isLast ? "" : (items.at(-1)?.name ?? "") };
}

/**
 * Redacts every string in a message, in place, and returns it. `isKept` names fields whose exact value is needed, such as a URL that
 * the user has to open.
 */
export function redactMessage<T extends object>(
  message: T,
  redact: (text: string) => string,
  isKept: (field: string) => boolean = () => false,
): T {
  const fields = message as Record<string, unknown>;
  for (const [field, value] of Object.entries(fields)) {
    if (field === "$typeName" || field === "case" || isKept(field)) continue;
    if (typeof value === "string") fields[field] = redact(value);
    else if (Array.isArray(value)) {
      fields[field] = value.map((item: unknown) =>
        typeof item === "string" ? redact(item) : redactWithin(item, redact, isKept),
      );
    } else redactWithin(value, redact, isKept);
  }
  return message;
}

function redactWithin(value: unknown, redact: (text: string) => string, isKept: (field: string) => boolean): unknown {
  return typeof value === "object" && value !== null ? redactMessage(value, redact, isKept) : value;
}
