import { type AdminClient, readAdminError } from "@wirescope/gateway/admin";
import { failureFromMessage, openAdminConnection } from "@wirescope/gateway/internal";
import { ToolServerError } from "@wirescope/tool-server";
import { commandLine } from "@wirescope/tool-server/internal/command-line";
import type { RunningGateway } from "../gateway-file.js";
import type { Io } from "../io.js";
import { readPem } from "../tool-server/read-pem.js";
import { UsageError } from "../usage-error.js";

const responseMs = 20_000;

/** The administration of the gateway that runs. */
export interface GatewayAdmin {
  readonly client: AdminClient;
  /** The gateway's address, for messages. */
  readonly url: string;
  /** Ends the connection to it, without which the process may not end. */
  close(): void;
}

/** Connects to the gateway. If it does not respond and was not asked for by name, the command continues without it. */
export async function connectToGateway(
  { endpoint, token, adminToken }: RunningGateway,
  values: { readonly endpoint: boolean; readonly ca?: string | undefined },
  io: Io,
): Promise<GatewayAdmin | undefined> {
  const url = new URL(endpoint).origin;
  const { client, close } = openAdminConnection(url, { token, adminToken, ca: readPem(values.ca, "--ca") });
  try {
    await client.listServers({ pageSize: 1 }, { timeoutMs: responseMs });
    return { client, url, close };
  } catch (error) {
    close();
    const { status, message } = readAdminError(error);
    if (status === "Unauthenticated") throw failureFrom(error, url);
    const what =
      status === "Unimplemented"
        ? `The gateway at ${url} is too old to be administered.`
        : `The gateway at ${url} does not respond (${message}).`;
    if (!values.endpoint) {
      const advice = isUnknownAuthority(error) ? ` ${adviceFor(error)}` : "";
      io.stderr.write(`wirescope: ${what}${advice} Continuing without it.\n`);
      return undefined;
    }
    throw new ToolServerError("SERVER_UNREACHABLE", { problem: what, advice: adviceFor(error) }, { cause: error });
  }
}

/** A gateway whose certificate is of a private authority runs well: starting it again would not help. */
function adviceFor(error: unknown): string {
  return isUnknownAuthority(error)
    ? "Its certificate is not signed by a known CA. Pass the CA certificate with --ca <file>."
    : `Start it again: ${commandLine("up")}.`;
}

/** Whether TLS failed because nobody here knows who signed the certificate, by the code that Node gives. */
function isUnknownAuthority(error: unknown): boolean {
  for (let link = error, depth = 0; link instanceof Error && depth < 8; link = link.cause, depth += 1) {
    if ("code" in link && /^(?:CERT_UNTRUSTED|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED|UNABLE_TO_)/.test(String(link.code)))
      return true;
  }
  return false;
}

/** A failure of the gateway as the command would have failed by itself. */
export function failureFrom(error: unknown, url: string): Error {
  if (ToolServerError.is(error)) return error;
  const { status, message, failure } = readAdminError(error);
  const known = failure && failureFromMessage(failure, error);
  if (known !== undefined) return known;
  const advice = adviceFor(error);
  switch (status) {
    case "Unauthenticated":
      return new ToolServerError(
        "UNAUTHORIZED",
        { problem: `The gateway at ${url} no longer accepts its token.`, advice },
        { cause: error },
      );
    case "Unavailable":
      return new ToolServerError(
        "SERVER_UNREACHABLE",
        { problem: `The gateway at ${url} is not reachable (${message}).`, advice },
        { cause: error },
      );
    case "FailedPrecondition":
    case "InvalidArgument":
    case "PermissionDenied":
    case "Unimplemented":
      return new UsageError(message, { cause: error });
    default:
      return new ToolServerError("SERVER_FAILED", { problem: message, advice: "" }, { cause: error });
  }
}
