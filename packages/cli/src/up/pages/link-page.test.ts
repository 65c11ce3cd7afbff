import type { Gateway } from "@wirescope/gateway/internal";
import { runGateway } from "@wirescope/gateway/internal/gateway";
import { createPageAccess } from "@wirescope/gateway/internal/page";
import { createSecretRegistry } from "@wirescope/tool-server";
import { parseConfiguration } from "@wirescope/tool-server/config";
import { expect, onTestFinished, test } from "vitest";
import { UsageError } from "../../usage-error.js";
import { createServerCommands } from "../to-do.js";
import { createLinkPage, printedLinks } from "./link-page.js";
import { linkPath, requestLink } from "./request-link.js";

const commands = createServerCommands({
  program: "wirescope",
  foundFile: undefined,
  isDemo: false,
  fileOf: () => undefined,
});

test("returns a new link only for the administrator's token", async () => {
  const access = createPageAccess();
  const entry = { command: process.execPath, args: ["-e", "process.exit(3)"] };
  const gateway: Gateway = await runGateway({
    configurations: [
      {
        configuration: parseConfiguration(JSON.stringify({ mcpServers: { notes: entry } })),
        variables: { PATH: process.env.PATH },
        pluginRoot: process.cwd(),
        assertTrusted: async () => {},
      },
    ],
    secrets: createSecretRegistry(),
    pages: { [linkPath]: createLinkPage(() => gateway, access) },
  });
  onTestFinished(() => gateway.close({ graceMs: 0 }));
  const { endpoint = "", address: channelz = "", adminToken, token = "" } = gateway;
  const running = { pid: process.pid, endpoint, channelz, adminToken };
  const ticketOf = (link: string): string => new URL(link).searchParams.get("ticket") ?? "";

  const links = [await requestLink(running), await requestLink(running, { server: "notes" })];
  const entrances = links.map((link) => access.redeem(ticketOf(link), undefined, false));
  const path = `/status/${entrances[1]?.key}/sign-in?server=notes`;
  expect(entrances.map((entrance) => entrance?.path)).toEqual([undefined, path]);
  const reader = access.redeem(ticketOf(await requestLink(running, { isReadOnly: true })), undefined, false);
  expect(access.find(reader?.cookie.split(";")[0], undefined)?.rights).toBe("reader");
  // A sign-in changes something, so its link has the rights of an administrator.
  await expect(requestLink(running, { server: "notes", isReadOnly: true })).rejects.toThrow("can only read");
  await expect(requestLink(running, { server: "note" })).rejects.toThrow('no server "note". Servers: notes.');
  // The client token is not enough.
  for (const wrong of [undefined, token]) {
    await expect(requestLink({ ...running, adminToken: wrong })).rejects.toThrow(UsageError);
  }
});

test("prints links only to a terminal, and the equivalent commands to a log", () => {
  const access = createPageAccess();
  const write = (): boolean => true;
  const terminal = printedLinks({ stdout: { write, isTTY: true } }, access, "http://127.0.0.1:1", commands);
  for (const link of [terminal.page, terminal.signInOf("notes")]) {
    expect(link).toMatch(/^http:\/\/127\.0\.0\.1:1\/\?ticket=[\w-]{43}$/);
  }
  const log = printedLinks({ stdout: { write } }, access, "http://127.0.0.1:1", commands);
  expect([log.page, log.signInOf("notes")]).toEqual(["wirescope page", "wirescope login notes"]);
});
