import { expect, test } from "vitest";
import { childEnvironment, inheritedVariables, scrubbedEnvironment, withheldVariables } from "./child-environment.js";

const user = {
  PATH: "/bin",
  HOME: "/home/me",
  GITHUB_TOKEN: "t",
  HTTPS_PROXY: "http://me:pw@proxy",
  WIRESCOPE_KEY: "k",
  UNSET: undefined,
};

test("a child gets what programs need to run, and what it is given; the given wins", () => {
  expect(childEnvironment(user, "server", { TOKEN: "x", HOME: "/elsewhere" })).toEqual({
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
  expect(childEnvironment(relative, "server")).toEqual({ PATH: "/bin:/usr/bin" });
  expect(scrubbedEnvironment(relative, [])).toEqual({ PATH: "/bin:/usr/bin" });
  expect(childEnvironment(relative, "server", { PATH: "bin:/bin" })).toEqual({ PATH: "bin:/bin" });
});

const company = {
  NODE_EXTRA_CA_CERTS: "/etc/ca.pem",
  SSL_CERT_FILE: "/etc/ca.pem",
  SSL_CERT_DIR: "/etc/certs",
  REQUESTS_CA_BUNDLE: "/etc/ca.pem",
  CURL_CA_BUNDLE: "/etc/ca.pem",
  HTTPS_PROXY: "http://proxy.example:3128",
  https_proxy: "http://proxy.example:3128",
  HTTP_PROXY: "http://proxy.example:3128",
  NO_PROXY: "localhost,.example",
  no_proxy: "localhost,.example",
};

test("a child gets what it needs behind a proxy and a certificate authority of a company", () => {
  expect(childEnvironment({ ...company, OTHER: "x" }, "node")).toEqual(company);
  expect(withheldVariables(company, "node")).toEqual([]);
});

test("a variable with a credential is withheld, unless the entry gives it", () => {
  const secret = {
    HTTPS_PROXY: "http://me:pw@proxy.example:3128",
    http_proxy: "me:pw@proxy.example:3128",
    npm_config_registry: "https://token@registry.example/",
    "npm_config_//registry.example/:_authToken": "abc",
    npm_config__auth: "abc",
    PIP_INDEX_URL: "https://me:pw@index.example/simple",
  };
  expect(childEnvironment(secret, "npx")).toEqual({});
  expect(withheldVariables(secret, "npx")).toEqual(Object.keys(secret).slice(0, 5));
  expect(withheldVariables(secret, "node")).toEqual(["HTTPS_PROXY", "http_proxy"]);
  const given = { HTTPS_PROXY: secret.HTTPS_PROXY };
  expect(childEnvironment(secret, "npx", given)).toEqual(given);
  expect(withheldVariables(secret, "node", given)).toEqual(["http_proxy"]);
});

test.each([
  [
    "npx",
    {
      npm_config_registry: "https://r.example/",
      NPM_CONFIG_CAFILE: "/ca.pem",
      "npm_config_@acme:registry": "https://a.example/",
    },
  ],
  ["/usr/bin/npx", { npm_config_strict_ssl: "true" }],
  ["uvx", { UV_INDEX_URL: "https://index.example/", UV_NATIVE_TLS: "1" }],
  ["pipx", { PIP_INDEX_URL: "https://index.example/", PIP_CERT: "/ca.pem" }],
  ["docker", { DOCKER_HOST: "unix:///run/docker.sock", DOCKER_CONFIG: "/home/me/.docker" }],
])("the launcher %s gets the variables that configure it, and another program does not", (launcher, variables) => {
  expect(childEnvironment(variables, launcher)).toEqual(variables);
  expect(childEnvironment(variables, "node")).toEqual({});
});

test("what npm sets for the package that it runs does not reach another npx", () => {
  expect(childEnvironment({ npm_config_local_prefix: "/app", npm_config_user_agent: "npm/11" }, "npx")).toEqual({});
});

test("the variables that a child may get are listed, those of every launcher if the command is not known", () => {
  expect(inheritedVariables("npx")).toContain("npm_config_*");
  expect(inheritedVariables("npx")).not.toContain("UV_*");
  expect(inheritedVariables(undefined)).toEqual(
    expect.arrayContaining(["HTTPS_PROXY", "npm_config_*", "UV_*", "DOCKER_*"]),
  );
});
