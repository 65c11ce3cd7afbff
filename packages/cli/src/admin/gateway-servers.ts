import type { ServerReport } from "@wirescope/gateway/internal";
import {
  type CallOptions,
  type Connection,
  createSecretRegistry,
  createToolServers,
  ToolServerError,
} from "@wirescope/tool-server";
import { createConfiguration } from "@wirescope/tool-server/config";
import type { Io } from "../io.js";
import { parseDuration } from "../option-values.js";
import { readPem } from "../tool-server/read-pem.js";
import type { ServerValues } from "../tool-server/server-options.js";
import type { ServerClient, UsableServers } from "../tool-server/usable-servers.js";
import { version } from "../version.js";
import { failureFrom, type GatewayAdmin } from "./connect-to-gateway.js";
import { createRemoteAdmin } from "./remote-admin.js";

/** The extension with which the gateway says which server offers an item, and what the server calls it. */
const originKey = "io.wirescope/origin";

interface Item {
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}

interface OwnItem<T> {
  readonly item: T;
  /** The server's own name for it. */
  readonly original: string;
}

/** The servers of the running gateway. All of them share one connection, to the endpoint that its clients use. */
export async function openGatewayServers(
  gateway: GatewayAdmin,
  values: Pick<ServerValues, "ca" | "timeout">,
  io: Io,
): Promise<UsableServers> {
  const { endpoint, token } = gateway.running;
  const secrets = createSecretRegistry();
  const headers: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const idleTimeoutMs = values.timeout === undefined ? undefined : parseDuration(values.timeout, "--timeout");
  const servers = createToolServers({
    configuration: createConfiguration({ gateway: { url: endpoint, headers } }, { secrets }),
    variables: io.env,
    pluginRoot: process.cwd(),
    secrets,
    // The gateway runs as this user.
    assertTrusted: async () => {},
    settings: { info: { name: "wirescope", version: version() }, capabilities: { extensions: { [originKey]: {} } } },
    ca: readPem(values.ca, "--ca"),
    sandbox: false,
    idleTimeoutMs,
    connectTimeoutMs: idleTimeoutMs,
  });
  const admin = createRemoteAdmin(gateway, io);
  const all = await admin.list();
  const connection = await servers.open("gateway");
  return {
    secrets,
    namesOf: (name) => (name === undefined ? all.map((server) => server.name) : [name]),
    async open(name) {
      // Rejects if it does not exist.
      await admin.list(name);
      const report = async (): Promise<ServerReport> => {
        const [server] = await admin.list(name);
        if (server?.isConnected) return server;
        if (server?.failure instanceof Error) throw server.failure;
        const problem = server?.failure?.message ?? `The gateway is not connected to ${JSON.stringify(name)} yet.`;
        throw new ToolServerError("SERVER_UNREACHABLE", { problem, advice: "Call again." });
      };
      return {
        ...clientOf(name, report, connection),
        async ping() {
          await report();
          try {
            return (await gateway.client.ping({ server: name })).durationMs;
          } catch (error) {
            throw failureFrom(error, gateway.url);
          }
        },
      };
    },
    async [Symbol.asyncDispose]() {
      await servers.close();
      await admin[Symbol.asyncDispose]();
    },
  };
}

/** One server through the gateway, with its own names of tools, prompts and resources. */
function clientOf(name: string, report: () => Promise<ServerReport>, gateway: Connection): Omit<ServerClient, "ping"> {
  let omitted: readonly string[] = [];
  /** The items of this server, each with the server's own name for it. Rejects with the failure of a server that is down. */
  const own = async <T extends Item>(list: () => Promise<readonly T[]>): Promise<OwnItem<T>[]> => {
    omitted = (await report()).listProblems ?? [];
    return (await list()).flatMap((item) => {
      const { [originKey]: origin, ...meta } = item._meta ?? {};
      const { server, name: original } = (origin ?? {}) as { readonly server?: string; readonly name?: string };
      if (server !== name || original === undefined) return [];
      const { _meta, ...rest } = item;
      return [{ item: { ...rest, ...(Object.keys(meta).length > 0 && { _meta: meta }) } as T, original }];
    });
  };
  const tools = (options?: CallOptions) => own(async () => (await gateway.listTools(options)).tools);
  const prompts = (options?: CallOptions) => own(async () => (await gateway.listPrompts(options)).prompts);
  const resources = (options?: CallOptions) => own(async () => (await gateway.listResources(options)).resources);
  const templates = (options?: CallOptions) =>
    own(async () => (await gateway.listResourceTemplates(options)).resourceTemplates);
  /** The item with the server's own name. One in no list has the same name everywhere. */
  const find = <T>(items: readonly OwnItem<T>[], original: string): T | undefined =>
    items.find((each) => each.original === original)?.item;
  return {
    async connect() {
      const { description } = await report();
      return description;
    },
    async listTools(options) {
      return { tools: (await tools(options)).map(({ item, original }) => ({ ...item, name: original })) };
    },
    async callTool(params, options) {
      return gateway.callTool({ ...params, name: find(await tools(), params.name)?.name ?? params.name }, options);
    },
    async listPrompts(options) {
      return { prompts: (await prompts(options)).map(({ item, original }) => ({ ...item, name: original })) };
    },
    async getPrompt(params, options) {
      return gateway.getPrompt({ ...params, name: find(await prompts(), params.name)?.name ?? params.name }, options);
    },
    async listResources(options) {
      return { resources: (await resources(options)).map(({ item, original }) => ({ ...item, uri: original })) };
    },
    async listResourceTemplates(options) {
      const all = await templates(options);
      return { resourceTemplates: all.map(({ item, original }) => ({ ...item, uriTemplate: original })) };
    },
    async readResource(params, options) {
      return gateway.readResource({ ...params, uri: find(await resources(), params.uri)?.uri ?? params.uri }, options);
    },
    omitted: () => omitted,
  };
}
