// Drives the playground with the keyboard and takes screenshots: node playground.mjs URL
import assert from "node:assert/strict";
import path from "node:path";
import { chromium } from "playwright-core";

const [url] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  for (const colorScheme of ["light", "dark"]) {
    const tab = await browser.newPage({ colorScheme, viewport: { width: 1200, height: 1000 } });
    const wrong = [];
    tab.on("console", m => { if (["error", "warning"].includes(m.type())) wrong.push(m.text()); });
    tab.on("pageerror", e => wrong.push(String(e)));
    tab.on("request", r => { if (!r.url().startsWith(url) && !r.url().startsWith("data:")) wrong.push("asks " + r.url()); });
    await tab.goto(url + "/");
    const ask = async n => {
      await tab.getByLabel("State", { exact: true }).press("Control+Enter");
      await tab.waitForFunction(n => document.querySelectorAll("#calls tbody tr").length === n, n);
    };
    const state = `A customer (${colorScheme}) writes for the third time about a late order, and wants the money back now.`;
    await tab.getByLabel("State", { exact: true }).fill(state);
    await ask(1);
    const bars = await tab.locator("#answers [role=meter]").evaluateAll(list => list.map(m => Number(m.ariaValueNow)));
    assert.equal(bars.length, 2 + 3 + 3);
    for (const [from, to] of [[0, 2], [2, 5], [5, 8]]) {
      assert.ok(Math.abs(bars.slice(from, to).reduce((a, b) => a + b) - 1) < 1e-9, "probabilities sum to 1: " + bars);
    }
    const widths = await tab.locator("#answers [role=meter] span").evaluateAll(list => list.map(e => e.getBoundingClientRect().width / e.parentElement.getBoundingClientRect().width));
    assert.ok(widths.every((w, i) => Math.abs(w - bars[i]) < 0.01), "bars are as long as they say: " + widths);
    assert.match(await tab.getByRole("status").textContent(), /cached.*computed.*ms/);

    // Another question about the same state, added with the keyboard alone.
    await tab.getByRole("button", { name: "Add a question" }).focus();
    await tab.keyboard.press("Enter");
    await tab.keyboard.type("Is the customer angry?");
    await ask(2);
    const rows = await tab.locator("#calls tbody tr").evaluateAll(list => list.map(r => [...r.cells].slice(1, 4).map(c => Number(c.textContent))));
    const [[tokens, cold], [, hot]] = rows;
    assert.ok(hot > cold && hot > tokens / 2, "the second call finds the state hot: " + JSON.stringify(rows));
    assert.equal(await tab.locator("#answers article").count(), 4);
    await tab.screenshot({ path: path.join(process.env.SHOTS, `playground-${colorScheme}.png`), fullPage: true });

    // Everything that takes input has a name, and the tab key reaches all of it in order.
    const unnamed = await tab.locator("input, textarea, select, button").evaluateAll(list => list.filter(e =>
      e.checkVisibility() && !e.labels?.length && !e.textContent.trim() && !e.getAttribute("aria-label")).map(e => e.outerHTML));
    assert.deepEqual(unnamed, []);
    await tab.getByLabel("State", { exact: true }).focus();
    const stops = await tab.locator("#form :is(input, textarea, select, button)").evaluateAll(list => list.filter(e => e.checkVisibility()).length);
    for (let i = 1; i < stops; i++) await tab.keyboard.press("Tab");
    assert.equal(await tab.evaluate(() => document.activeElement.id), "ask");
    assert.deepEqual(wrong, []);

    // A refusal is told, in an alert.
    await tab.locator("#questions fieldset").nth(1).getByLabel(/Options/).fill("same\nsame");
    await tab.getByRole("button", { name: "Ask" }).press("Enter");
    await tab.waitForFunction(() => document.getElementById("problem").textContent !== "");
    assert.match(await tab.getByRole("alert").textContent(), /same/);

    await tab.setViewportSize({ width: 360, height: 800 });
    assert.ok(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "a narrow window does not scroll sideways");
    await tab.screenshot({ path: path.join(process.env.SHOTS, `playground-${colorScheme}-narrow.png`) });
    await tab.close();
  }
  console.log("playground: asked, read, asked again, in light and dark");
} finally {
  await browser.close();
}
