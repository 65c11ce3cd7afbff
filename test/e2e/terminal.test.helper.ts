import { spawnSync } from "node:child_process";

/** Whether tests can give a program its own terminal: with `script` of util-linux, which most Linux systems have. */
export const hasTerminals: boolean =
  spawnSync("script", ["--version"], { encoding: "utf8" }).stdout?.includes("util-linux") ?? false;

if (!hasTerminals) console.warn("Tests in a terminal are skipped: `script` of util-linux is not installed.");
