import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { grpcCode } from "./grpc-code.js";

test("uses the same numbers as Connect for the codes of a listener", () => {
  for (const [name, code] of Object.entries(grpcCode)) {
    expect(Code[code]).toBe(`${name.charAt(0).toUpperCase()}${name.slice(1)}`);
  }
});
