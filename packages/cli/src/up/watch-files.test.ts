import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { statesOf, watchFiles } from "./watch-files.js";

const eventually = { timeout: 60_000 };

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
  await vi.waitFor(() => expect(onChange).toHaveBeenCalled(), eventually);
  onChange.mockClear();
  writeFileSync(file, "2");
  await vi.waitFor(() => expect(onChange).toHaveBeenCalled(), eventually);
});

test("reports a change from before the watch, if it has the states before that", async () => {
  const files = [join(newFolder(), "mcp.json")];
  writeFileSync(files[0] ?? "", "read");
  const before = statesOf(files);
  writeFileSync(files[0] ?? "", "changed");
  const onChange = vi.fn();
  onTestFinished(watchFiles(files, onChange, before));
  await vi.waitFor(() => expect(onChange).toHaveBeenCalledTimes(1), eventually);
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
  await vi.waitFor(() => expect(onOther).toHaveBeenCalled(), eventually);
  expect(onChange).not.toHaveBeenCalled();
});

test("does not report other files, neither in the folder nor above it", async () => {
  const home = newFolder();
  const onChange = vi.fn();
  const onOther = vi.fn();
  onTestFinished(watchFiles([join(home, "missing", "gateway.json")], onChange));
  onTestFinished(watchFiles([join(home, "other.json")], onOther));
  writeFileSync(join(home, "other.json"), "{}");
  await vi.waitFor(() => expect(onOther).toHaveBeenCalled(), eventually);
  expect(onChange).not.toHaveBeenCalled();
});

test("reports a file behind symbolic links that were replaced, as Kubernetes does, and a change of the file that they point to", async () => {
  const folder = newFolder();
  for (const version of ["one", "two"]) {
    mkdirSync(join(folder, version));
    writeFileSync(join(folder, version, "mcp.json"), version);
  }
  symlinkSync("one", join(folder, "data"));
  symlinkSync("data/mcp.json", join(folder, "mcp.json"));
  const onChange = vi.fn();
  onTestFinished(watchFiles([join(folder, "mcp.json")], onChange));
  symlinkSync("two", join(folder, "next"));
  renameSync(join(folder, "next"), join(folder, "data"));
  await vi.waitFor(() => expect(onChange).toHaveBeenCalled(), eventually);
  onChange.mockClear();
  writeFileSync(join(folder, "two", "mcp.json"), "changed");
  await vi.waitFor(() => expect(onChange).toHaveBeenCalled(), eventually);
});

test("reports changes in a folder that was removed and created again", async () => {
  const folder = join(newFolder(), "wirescope");
  const file = join(folder, "mcp.json");
  mkdirSync(folder);
  writeFileSync(file, "1");
  const onChange = vi.fn();
  onTestFinished(watchFiles([file], onChange));
  for (const text of ["22", "333"]) {
    rmSync(folder, { recursive: true });
    mkdirSync(folder);
    writeFileSync(file, text);
    await vi.waitFor(() => expect(onChange).toHaveBeenCalled(), eventually);
    onChange.mockClear();
  }
});
