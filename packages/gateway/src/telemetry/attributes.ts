import type { Attributes } from "@opentelemetry/api";
import { parseUrl } from "@wirescope/channelz/internal";
import {
  type ConnectionInfo,
  type CredentialOperation,
  type CredentialOutcome,
  ToolServerError,
  type TransportKind,
} from "@wirescope/tool-server";
import { metaKeys, metaOf } from "@wirescope/tool-server/internal";
import type { ClientCall } from "../client-call.js";

/** What stands for everything that is not known: a client could make up as many names as it likes. */
export const other = "_OTHER";

/** The longest text that is told, in characters. */
const longestText = 128;

/** What a request is about, as far as that is one of a bounded number of names. */
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

/** The name of a span: the method, and the tool or prompt where that is known. */
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

/** Which request of which client it is; for spans alone, for there are as many as there are requests. */
export function requestAttributes({ id, account, session }: ClientCall): Attributes {
  return {
    "jsonrpc.request.id": cut(String(id)),
    "wirescope.client": cut(account.label),
    // Shortened: the whole is half of what is needed to use it.
    ...(session === undefined ? {} : { "mcp.session.id": session.shortId }),
  };
}

const protocols: Readonly<Record<TransportKind, string | undefined>> = {
  http: "http",
  sse: "http",
  ws: "websocket",
  stdio: undefined,
};

/** Where a server is. Of its url only host and port: the rest may hold what nobody should read. */
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

/** What kind of failure it was, by the code of JSON-RPC that was answered. */
export function codeAttributes(code: number): Attributes {
  // These are the protocol's. A server may answer with any other.
  const text = code >= -32_768 && code <= -32_000 ? String(code) : other;
  return { "error.type": text, "rpc.response.status_code": text };
}

/** What kind of failure a request of a server ended with. */
export function failureAttributes(error: unknown): Attributes {
  if (!ToolServerError.is(error)) return { "error.type": other };
  const { rpcCode } = error.details;
  return rpcCode === undefined ? { "error.type": error.code } : codeAttributes(rpcCode);
}

/** What is done for a credential, and why: words of ours alone. */
export function operationAttributes({ kind, cause }: Pick<CredentialOperation, "kind" | "cause">): Attributes {
  return { "wirescope.operation": kind, ...(cause === undefined ? {} : { "wirescope.cause": cause }) };
}

/** How that came out. What it failed for is told by its code, for words may be a peer's. */
export function outcomeAttributes({ outcome, code }: CredentialOutcome): Attributes {
  const type = outcome === "cancelled" ? outcome : outcome === "failed" ? (code ?? other) : undefined;
  return { "wirescope.outcome": outcome, ...(type === undefined ? {} : { "error.type": type }) };
}

function portOf({ port, protocol }: URL): number {
  if (port !== "") return Number(port);
  return protocol === "https:" || protocol === "wss:" ? 443 : 80;
}

function cut(text: string): string {
  return text.length <= longestText ? text : text.slice(0, longestText);
}
