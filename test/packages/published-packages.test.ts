import { readFile } from "node:fs/promises";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { expect, onTestFinished, test } from "vitest";
import { packPackages } from "./installed-packages.test.helper.js";

test("publint finds no problem in any package as npm would publish it", async () => {
  const names = ["channelz", "gateway", "instrument", "quirks", "tool-server"].map((name) => `@wirescope/${name}`);
  const { tarballs, remove } = await packPackages("wirescope", ...names);
  onTestFinished(remove);
  expect(tarballs).toHaveLength(names.length + 1);
  for (const file of tarballs) {
    const { buffer: tarball } = new Uint8Array(await readFile(file));
    const { messages, pkg } = await publint({ pack: { tarball }, level: "warning", strict: true });
    expect(messages.map((message) => `${pkg.name}: ${formatMessage(message, pkg)}`)).toEqual([]);
  }
});
