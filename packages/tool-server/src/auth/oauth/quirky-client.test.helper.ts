import { type Quirk, type Quirks, type QuirksServer, startQuirks } from "@wirescope/quirks";
import { onTestFinished } from "vitest";
import { parseConfiguration } from "../../config/parse-configuration.js";
import { createToolServers, type ToolServers } from "../../connection/servers/tool-servers.js";
import { ToolServerError, type ToolServerErrorCode } from "../../errors.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import { createMemoryVault } from "../vault/memory-vault.js";
import type { Vault } from "../vault/vault.js";
import { createPerson } from "./oauth-world.test.helper.js";
import type { SignInRequest } from "./sign-in/sign-in.js";

/** How a call ends: with an response, or with this failure. */
export type Outcome = "result" | ToolServerErrorCode;

/** A user of a tool server with these switches on, who signs in whenever asked. All ends with the test. */
export interface QuirkyClient extends Quirks {
  readonly servers: ToolServers;
  /** Where requests came to, in order. */
  readonly places: readonly QuirksServer[];
  /** What the user was asked. */
  readonly asked: readonly SignInRequest[];
  /** The pages that the user's browser ended at. */
  readonly pages: readonly string[];
  /** The messages of the calls that failed. */
  readonly messages: readonly string[];
  /** Connects where that is needed, and calls the tool. */
  call(): Promise<Outcome>;
}

/** `vault` is where tokens rest; default: one of its own. */
export async function createQuirkyClient(
  quirks: readonly Quirk[],
  vault: Vault = createMemoryVault(),
): Promise<QuirkyClient> {
  const places: QuirksServer[] = [];
  const messages: string[] = [];
  const started = await startQuirks({ quirks, onRequest: (place) => places.push(place) });
  const secrets = createSecretRegistry();
  const { person, asked, pages } = createPerson();
  const text = JSON.stringify({ notes: { type: "http", url: started.tool.url } });
  const servers = createToolServers({
    configuration: parseConfiguration(text, { allowInsecureLoopback: true, secrets }),
    variables: {},
    pluginRoot: process.cwd(),
    secrets,
    assertTrusted: async () => {},
    oauth: { vault, signIn: person, allowInsecureLoopback: true },
    settings: { info: { name: "test", version: "0" } },
  });
  onTestFinished(async () => {
    await servers.close();
    await vault.dispose();
    await started.close();
  });
  return {
    ...started,
    servers,
    places,
    asked,
    pages,
    messages,
    async call() {
      try {
        const connection = await servers.open("notes");
        await connection.connect();
        await connection.callTool({ name: "scopes", arguments: {} });
        return "result";
      } catch (error) {
        if (!ToolServerError.is(error)) throw error;
        messages.push(error.message);
        return error.code;
      }
    },
  };
}
