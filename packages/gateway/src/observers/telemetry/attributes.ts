import type { Attributes } from "@opentelemetry/api";
import { parseUrl } from "@wirescope/channelz/internal";
import {
  type ConnectionInfo,
  type CredentialOperation,
  type CredentialOutcome,
  ToolServerError,
  type TransportKind,
} from "@wirescope/tool-server";
import { metaKeys, metaOf, portOf } from "@wirescope/tool-server/internal";
import type { ClientCall } from "../../client-call.js";

/** Replaces every unknown name: a client could invent any number of names. */
export const other = "_OTHER";

const maxLength = 128;

/** The tool or prompt of a request, if it is one of a bounded number of names. */
export function subjectAttributes(method: string | undefined, name: string | undefined): Attributes {
  switch (method) {
    case "tools/call":
      return {
        "gen_ai.operation.name": "execute_tool",
        ...(name === undefined ? {} : { "gen_ai.tool.name": cut(name) }),
      };
    case "prompts/get":
      return name === undefined ? {} : { "gen_ai.prompt.name": cut(name) };
    default:
      return {};
  }
}

/** The name of a span: the method, and the tool or prompt if it is known. */
export function spanName(method: string | undefined, subject: Attributes): string {
  const name = subject["gen_ai.tool.name"] ?? subject["gen_ai.prompt.name"];
  const isKnown = name !== undefined && name !== other;
  return isKnown ? `${method} ${name}` : (method ?? other);
}

/** How a client reaches the gateway. */
export function callerAttributes({ account, session, params }: ClientCall, transport: "tcp" | "unix"): Attributes {
  const isPiped = account.principal === "stdio";
  const version = session?.protocolVersion ?? metaOf(params)?.[metaKeys.protocolVersion];
  return {
    ...(typeof version === "string" ? { "mcp.protocol.version": version } : {}),
    "network.transport": isPiped ? "pipe" : transport,
    ...(isPiped ? {} : { "network.protocol.name": "http" }),
  };
}

/** Identifies a request and its client. Only for spans: in metrics every request would be a series. */
export function requestAttributes({ id, account, session }: ClientCall): Attributes {
  return {
    "jsonrpc.request.id": cut(String(id)),
    "wirescope.client": cut(account.label),
    // Shortened: the full id is half of what a client needs to use the session.
    ...(session === undefined ? {} : { "mcp.session.id": session.shortId }),
  };
}

const protocols: Readonly<Record<TransportKind, string | undefined>> = {
  http: "http",
  sse: "http",
  ws: "websocket",
  stdio: undefined,
};

/** The address of a server: only the host and port of its URL, because the rest may contain secrets. */
export function serverAttributes({ kind, name, target }: ConnectionInfo): Attributes {
  const protocol = protocols[kind];
  const common = { "wirescope.server": cut(name) };
  if (protocol === undefined) return { ...common, "network.transport": "pipe" };
  const url = parseUrl(target);
  return {
    ...common,
    "network.transport": "tcp",
    "network.protocol.name": protocol,
    ...(url === undefined ? {} : { "server.address": url.hostname, "server.port": portOf(url) }),
  };
}

/** The type of a failure, by its JSON-RPC code. */
export function codeAttributes(code: number): Attributes {
  // The range that JSON-RPC reserves. A server may return any other code.
  const text = code >= -32_768 && code <= -32_000 ? String(code) : other;
  return { "error.type": text, "rpc.response.status_code": text };
}

/** The type of a failed request to a server. */
export function failureAttributes(error: unknown): Attributes {
  if (!ToolServerError.is(error)) return { "error.type": other };
  const { rpcCode } = error.details;
  return rpcCode === undefined ? { "error.type": error.code } : codeAttributes(rpcCode);
}

/** The kind and the cause of a credential operation: both are fixed strings. */
export function operationAttributes({ kind, cause }: Pick<CredentialOperation, "kind" | "cause">): Attributes {
  return { "wirescope.operation": kind, ...(cause === undefined ? {} : { "wirescope.cause": cause }) };
}

/** The outcome of a credential operation. A failure is reported by its code, because its message may contain text from a peer. */
export function outcomeAttributes({ outcome, code }: CredentialOutcome): Attributes {
  const type = outcome === "cancelled" ? outcome : outcome === "failed" ? (code ?? other) : undefined;
  return { "wirescope.outcome": outcome, ...(type === undefined ? {} : { "error.type": type }) };
}

function cut(text: string): string {
  return text.length <= maxLength ? text : text.slice(0, maxLength);
}
