import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  approvalKey,
  createApprovalStore,
  createSecretRegistry,
  evaluateTrust,
  notTrusted,
  type SecretRegistry,
} from "@wirescope/tool-server";
import { parseConfiguration } from "@wirescope/tool-server/config";
import { onTestFinished } from "vitest";
import { startTestGateway, type TestGateway } from "../gateway.test.helper.js";
import type { GatewayOptions } from "../gateway-options.js";
import type { Check, Explanation } from "../gen/wirescope/v1/admin_pb.js";
import type { GatewayConfiguration } from "../servers/gateway-configuration.js";
import type { AdminClient } from "./client/admin-client.js";
import { connectAdmin } from "./connect-admin.js";

export interface TestAdmin extends TestGateway {
  readonly admin: AdminClient;
}

/** Starts a gateway with these servers, and creates an administration client for it, until the test ends. */
export async function startTestAdmin(entries: object, options: Partial<GatewayOptions> = {}): Promise<TestAdmin> {
  const gateway = await startTestGateway(entries, options);
  return {
    ...gateway,
    admin: connectAdmin(gateway.url, { token: gateway.token, adminToken: gateway.gateway.adminToken }),
  };
}

/** The explanation of a server, and the steps that were reported before it. */
export async function explain(
  admin: AdminClient,
  server: string,
): Promise<{ readonly steps: readonly Check[]; readonly explanation: Explanation }> {
  const steps: Check[] = [];
  for await (const { event } of admin.explain({ server })) {
    if (event.case === "explanation") return { steps, explanation: event.value };
    if (event.case === "step") steps.push(event.value);
  }
  throw new Error("The diagnosis has no result.");
}

/** A project in its own folder, whose entries need real approvals. */
export interface ApprovedProject {
  readonly folder: string;
  readonly file: string;
  readonly secrets: SecretRegistry;
  /** The gateway's configuration, with the current entries. */
  write(entries: object, variables?: Readonly<Record<string, string>>): GatewayConfiguration;
}

export function createApprovedProject(): ApprovedProject {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "wirescope-admin-")));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, ".mcp.json");
  const store = createApprovalStore({ path: join(folder, "home", "approvals.json") });
  const secrets = createSecretRegistry();
  return {
    folder,
    file,
    secrets,
    write(entries, variables = {}) {
      const text = JSON.stringify({ mcpServers: entries }, null, 2);
      writeFileSync(file, text);
      const evaluate: NonNullable<GatewayConfiguration["trust"]>["evaluate"] = (entry) =>
        evaluateTrust({ entry, configurationPath: file, pluginRoot: folder, variables, store, policy: undefined });
      return {
        configuration: parseConfiguration(text, { secrets }),
        configurationPath: file,
        variables: { PATH: process.env.PATH, ...variables },
        pluginRoot: folder,
        async assertTrusted(entry) {
          const decision = await evaluate(entry);
          if (decision.state !== "trusted") throw notTrusted(entry.name, decision);
        },
        trust: {
          evaluate,
          approve: (subject) => store.approve(subject),
          compareTools: async (entry, tools, redact) =>
            store.compareTools(await approvalKey(file, entry.name), tools, redact),
          acceptTools: async (entry, found) => store.acceptTools(await approvalKey(file, entry.name), found),
        },
        backOff: { firstMs: 20, maxMs: 200 },
      };
    },
  };
}
