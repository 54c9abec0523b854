// What a page of another origin may do: node origin.mjs URL refused|allowed|star [KEY]
import assert from "node:assert/strict";
import http from "node:http";
import { chromium } from "playwright-core";

const [url, want, key] = process.argv.slice(2);
const page = http.createServer((_, r) => r.setHeader("Content-Type", "text/html").end("<title>another origin</title>"));
await new Promise(ready => page.listen(18432, "127.0.0.1", ready));
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  const tab = await browser.newPage();
  await tab.goto("http://127.0.0.1:18432/");
  const call = (options, path = "/v1/systemone") => tab.evaluate(async ([url, options]) => {
    try {
      const r = await fetch(url, options);
      return { status: r.status, id: r.headers.get("X-Request-Id"), body: (await r.text()).slice(0, 400) };
    } catch (e) { return { refused: String(e) }; }
  }, [url + path, options]);
  const headers = { "Content-Type": "application/json", ...(key ? { Authorization: "Bearer " + key } : {}) };
  const body = JSON.stringify({ state: "a", questions: { q: { type: "noul", instructions: "b?" } } });
  const json = await call({ method: "POST", headers, body });
  const simple = await call({ method: "POST", headers: { "Content-Type": "text/plain" }, body });
  const read = await call({ headers: key ? { Authorization: "Bearer " + key } : {} }, "/v1/models");
  const cookies = await call({ method: "POST", headers, body, credentials: "include" });
  if (want === "refused") {
    for (const r of [json, simple, read, cookies]) assert.ok(r.refused, JSON.stringify(r));
  } else {
    assert.equal(json.status, 200, JSON.stringify(json));
    assert.ok(json.id && json.body.includes("noul"));
    assert.equal(read.status, 200, JSON.stringify(read));
    assert.equal(simple.status, 415, JSON.stringify(simple));
    assert.ok(cookies.refused, "credentials were not asked for: " + JSON.stringify(cookies));
    const stream = await call({ method: "POST", headers, body: JSON.stringify({ prompt: "Once", max_tokens: 4, stream: true }) }, "/v1/completions");
    assert.ok(stream.status === 200 && stream.body.includes("data: "), JSON.stringify(stream));
    const bad = await call({ method: "POST", headers, body: "{" });
    assert.equal(bad.status, 422, "errors can be read too: " + JSON.stringify(bad));
  }
  console.log("another origin:", want);
} finally {
  await browser.close();
  page.close();
}
