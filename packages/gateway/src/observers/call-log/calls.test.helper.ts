import type { Client } from "@modelcontextprotocol/client";
import { expect } from "vitest";
import { type CallClient, createCallClient } from "../../admin/client/admin-client.js";
import { connect, pollOptions, startTestGateway, type TestGateway } from "../../gateway.test.helper.js";
import type { GatewayOptions } from "../../gateway-options.js";
import { type Call, CallOutcome, type CallPhase, PhaseKindSchema } from "../../gen/wirescope/v1/calls_pb.js";

export interface TestCalls extends TestGateway {
  /** With the administrator's token. */
  readonly calls: CallClient;
  /** Without it. */
  readonly reader: CallClient;
  readonly client: Client;
}

/** Starts a gateway with these servers, an MCP client, and clients for its call log. */
export async function startTestCalls(entries: object, options: Partial<GatewayOptions> = {}): Promise<TestCalls> {
  const gateway = await startTestGateway(entries, options);
  const { url, token } = gateway;
  return {
    ...gateway,
    calls: createCallClient({ url, token, adminToken: gateway.gateway.adminToken }),
    reader: createCallClient({ url, token }),
    client: await connect(gateway, "legacy"),
  };
}

/** The kept tool calls, oldest first. */
export async function toolCalls({ reader }: Pick<TestCalls, "reader">): Promise<Call[]> {
  for await (const { calls } of reader.watchCalls({})) return calls.filter(({ method }) => method === "tools/call");
  return [];
}

/** The last tool call once it has ended, with its phases and body. */
export async function lastToolCall(gateway: Pick<TestCalls, "reader" | "calls">): Promise<Call> {
  let last: Call | undefined;
  await expect
    .poll(async () => {
      last = (await toolCalls(gateway)).at(-1);
      return last?.outcome ?? CallOutcome.RUNNING;
    }, pollOptions)
    .not.toBe(CallOutcome.RUNNING);
  return (await gateway.calls.getCall({ id: last?.id ?? "" })).call!;
}

/** The phases as an indented list: `credential`, `  helper`. */
export function outlineOf(phases: readonly CallPhase[]): string[] {
  const nameOf = ({ kind }: Pick<CallPhase, "kind">): string =>
    PhaseKindSchema.value[kind]?.localName.toLowerCase() ?? "";
  return phases.map((phase) => `${"  ".repeat(phase.depth)}${nameOf(phase)}`);
}
