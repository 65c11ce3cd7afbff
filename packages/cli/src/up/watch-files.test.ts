import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { watchFiles } from "./watch-files.js";

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "wirescope-watch-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test("reports a file whose folders are created after the watch started, and its later changes", async () => {
  const home = newFolder();
  const folder = join(home, ".config", "wirescope");
  const file = join(folder, "approvals.json");
  const onChange = vi.fn();
  onTestFinished(watchFiles([file], onChange));
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, "1");
  await vi.waitFor(() => expect(onChange).toHaveBeenCalled());
  onChange.mockClear();
  writeFileSync(file, "2");
  await vi.waitFor(() => expect(onChange).toHaveBeenCalled());
});

test("does not report a folder that is created without the file", async () => {
  const home = newFolder();
  const folder = join(home, "wirescope");
  const onChange = vi.fn();
  const onOther = vi.fn();
  onTestFinished(watchFiles([join(folder, "gateway.json")], onChange));
  onTestFinished(watchFiles([join(folder, "other.json")], onOther));
  mkdirSync(folder);
  writeFileSync(join(folder, "other.json"), "{}");
  await vi.waitFor(() => expect(onOther).toHaveBeenCalled());
  expect(onChange).not.toHaveBeenCalled();
});

test("does not report other files, neither in the folder nor above it", async () => {
  const home = newFolder();
  const onChange = vi.fn();
  const onOther = vi.fn();
  onTestFinished(watchFiles([join(home, "missing", "gateway.json")], onChange));
  onTestFinished(watchFiles([join(home, "other.json")], onOther));
  writeFileSync(join(home, "other.json"), "{}");
  await vi.waitFor(() => expect(onOther).toHaveBeenCalled());
  expect(onChange).not.toHaveBeenCalled();
});
