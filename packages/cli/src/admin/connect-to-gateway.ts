import { type AdminClient, readAdminError } from "@wirescope/gateway/admin";
import { failureFromMessage, openAdminConnection } from "@wirescope/gateway/internal";
import { ToolServerError } from "@wirescope/tool-server";
import { commandLine } from "@wirescope/tool-server/internal/command-line";
import type { RunningGateway } from "../gateway-file.js";
import type { Io } from "../io.js";
import { readPem } from "../tool-server/read-pem.js";
import { UsageError } from "../usage-error.js";

const responseMs = 20_000;

/** The administration API of the running gateway. */
export interface GatewayAdmin {
  readonly running: RunningGateway;
  readonly client: AdminClient;
  /** The gateway's address, for messages. */
  readonly url: string;
  /** Closes the connection, which would keep the process alive. */
  close(): void;
}

/** Connects to the gateway. If it does not respond, the command continues without it, unless `--endpoint` was given. */
export async function connectToGateway(
  running: RunningGateway,
  values: { readonly endpoint: boolean; readonly ca?: string | undefined },
  io: Io,
): Promise<GatewayAdmin | undefined> {
  const { endpoint, token, adminToken } = running;
  const url = new URL(endpoint).origin;
  const { client, close } = openAdminConnection(url, { token, adminToken, ca: readPem(values.ca, "--ca") });
  try {
    await client.listServers({ pageSize: 1 }, { timeoutMs: responseMs });
    return { running, client, url, close };
  } catch (error) {
    close();
    const { status, message } = readAdminError(error);
    if (status === "Unauthenticated") throw failureFrom(error, url);
    const what =
      status === "Unimplemented"
        ? `The gateway at ${url} is too old for this command.`
        : `The gateway at ${url} does not respond (${message}).`;
    if (!values.endpoint) {
      const advice = isUnknownAuthority(error) ? ` ${adviceFor(error)}` : "";
      io.stderr.write(`wirescope: ${what}${advice} Continuing without it.\n`);
      return undefined;
    }
    throw new ToolServerError("SERVER_UNREACHABLE", { problem: what, advice: adviceFor(error) }, { cause: error });
  }
}

/** Restarting a gateway does not help if only its certificate is signed by a private CA. */
function adviceFor(error: unknown): string {
  return isUnknownAuthority(error)
    ? "Its certificate is not signed by a known CA. Pass the CA certificate with --ca <file>."
    : `Start it again: ${commandLine("up")}.`;
}

/** Whether TLS failed because the CA that signed the certificate is unknown, by Node's error code. */
function isUnknownAuthority(error: unknown): boolean {
  for (let link = error, depth = 0; link instanceof Error && depth < 8; link = link.cause, depth += 1) {
    if ("code" in link && /^(?:CERT_UNTRUSTED|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED|UNABLE_TO_)/.test(String(link.code)))
      return true;
  }
  return false;
}

/** An error of the gateway as the error that the command would report without a gateway. */
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
