import { performance } from "node:perf_hooks";
import type { Connection, SecretRegistry, ServerDescription } from "@wirescope/tool-server";
import { describeListProblems } from "@wirescope/tool-server/internal";

/** What commands do with one server: through a connection of this process, or through the running gateway. */
export interface ServerClient
  extends Pick<
    Connection,
    "listTools" | "callTool" | "listPrompts" | "getPrompt" | "listResources" | "listResourceTemplates" | "readResource"
  > {
  connect(): Promise<Pick<ServerDescription, "name" | "version" | "protocolVersion">>;
  /** Resolves to the response time, in milliseconds. */
  ping(): Promise<number>;
  /** What was omitted from these lists when they were last requested, such as "tools/list", because it is invalid. */
  omitted(methods: readonly string[]): readonly string[];
}

/** The servers that a command uses: those of a configuration, or those of the running gateway. */
export interface UsableServers extends AsyncDisposable {
  readonly secrets: Pick<SecretRegistry, "redact">;
  /** The names of the servers to use: the given one, or all. */
  namesOf(name: string | undefined): readonly string[];
  /** Rejects with SERVER_UNKNOWN if it does not exist. */
  open(name: string): Promise<ServerClient>;
}

/** A server through a connection of this process. */
export function serverClientOf(connection: Connection): ServerClient {
  const { connect, listTools, callTool, listPrompts, getPrompt } = connection;
  const { listResources, listResourceTemplates, readResource } = connection;
  return {
    ...{ connect, listTools, callTool, listPrompts, getPrompt, listResources, listResourceTemplates, readResource },
    async ping() {
      const start = performance.now();
      await connection.ping();
      return performance.now() - start;
    },
    omitted(methods) {
      const problems = methods.flatMap((method) => connection.listProblems(method));
      return problems.length === 0 ? [] : [describeListProblems(problems)];
    },
  };
}
