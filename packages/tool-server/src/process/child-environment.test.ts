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

test("gives a child what programs need to run, and the given variables, which take precedence", () => {
  expect(childEnvironment(user, "server", { TOKEN: "x", HOME: "/elsewhere" })).toEqual({
    PATH: "/bin",
    HOME: "/elsewhere",
    TOKEN: "x",
  });
});

test("removes the named variables, our own, and exported functions from an environment", () => {
  const env = { ...user, Wirescope_Token: "t", "BASH_FUNC_f%%": "() { echo; }" };
  expect(scrubbedEnvironment(env, ["GITHUB_TOKEN"], { NAME: "x" })).toEqual({
    PATH: "/bin",
    HOME: "/home/me",
    HTTPS_PROXY: "http://me:pw@proxy",
    NAME: "x",
  });
});

test("removes relative folders from the user's PATH, but keeps a PATH that an entry gives as it is", () => {
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

test("gives a child what it needs behind a proxy and a CA of a company", () => {
  expect(childEnvironment({ ...company, OTHER: "x" }, "node")).toEqual(company);
  expect(withheldVariables(company, "node")).toEqual([]);
});

test("withholds a variable with a credential, unless the entry gives it", () => {
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
])("gives the launcher %s the variables that configure it, and no other program", (launcher, variables) => {
  expect(childEnvironment(variables, launcher)).toEqual(variables);
  expect(childEnvironment(variables, "node")).toEqual({});
});

test("does not pass on what npm sets for the package that it runs", () => {
  expect(childEnvironment({ npm_config_local_prefix: "/app", npm_config_user_agent: "npm/11" }, "npx")).toEqual({});
});

test("lists the variables that a child may get, those of every launcher if the command is not known", () => {
  expect(inheritedVariables("npx")).toContain("npm_config_*");
  expect(inheritedVariables("npx")).not.toContain("UV_*");
  expect(inheritedVariables(undefined)).toEqual(
    expect.arrayContaining(["HTTPS_PROXY", "npm_config_*", "UV_*", "DOCKER_*"]),
  );
});
