import { expect, test } from "vitest";
import { childEnvironment, scrubbedEnvironment } from "./child-environment.js";

const user = {
  PATH: "/bin",
  HOME: "/home/me",
  GITHUB_TOKEN: "t",
  HTTPS_PROXY: "http://me:pw@proxy",
  WIRESCOPE_KEY: "k",
  UNSET: undefined,
};

test("a child gets what programs need to run, and what it is given; the given wins", () => {
  expect(childEnvironment(user, { TOKEN: "x", HOME: "/elsewhere" })).toEqual({
    PATH: "/bin",
    HOME: "/elsewhere",
    TOKEN: "x",
  });
});

test("a scrubbed environment lacks the named variables, our own, and exported functions", () => {
  const env = { ...user, "BASH_FUNC_f%%": "() { echo; }" };
  expect(scrubbedEnvironment(env, ["GITHUB_TOKEN"], { NAME: "x" })).toEqual({
    PATH: "/bin",
    HOME: "/home/me",
    HTTPS_PROXY: "http://me:pw@proxy",
    NAME: "x",
  });
});

test("relative folders of the user's PATH do not reach a child, while a PATH that an entry gives stays as it is", () => {
  const relative = { PATH: ".:/bin::tools:/usr/bin" };
  expect(childEnvironment(relative)).toEqual({ PATH: "/bin:/usr/bin" });
  expect(scrubbedEnvironment(relative, [])).toEqual({ PATH: "/bin:/usr/bin" });
  expect(childEnvironment(relative, { PATH: "bin:/bin" })).toEqual({ PATH: "bin:/bin" });
});
