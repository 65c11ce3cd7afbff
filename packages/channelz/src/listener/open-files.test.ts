import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { maxOpenFiles, reportedMaxOpenFiles } from "./open-files.js";

test.skipIf(process.platform === "win32")(
  "reads the limit of open files of this process, and the same from a report",
  () => {
    const limit = execFileSync("/bin/sh", ["-c", "ulimit -n"], { encoding: "utf8" }).trim();
    const expected = limit === "unlimited" ? Number.POSITIVE_INFINITY : Number(limit);
    expect([maxOpenFiles(), reportedMaxOpenFiles()]).toEqual([expected, expected]);
  },
);
