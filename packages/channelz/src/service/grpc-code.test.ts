import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { grpcCode } from "./grpc-code.js";

test("the codes of a listener are those of Connect by the same name", () => {
  for (const [name, code] of Object.entries(grpcCode)) {
    expect(Code[code]).toBe(`${name.charAt(0).toUpperCase()}${name.slice(1)}`);
  }
});
