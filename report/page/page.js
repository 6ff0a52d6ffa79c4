"use strict";
(function () {
	// What would show text in another order is written as the page itself has it, \u202e.
	const shown = (s) => s.replace(/[^\P{Cc}\n\t]|\p{Bidi_Control}/gu, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
	const data = JSON.parse(document.getElementById("data").textContent, (_, v) => (typeof v === "string" ? shown(v) : v));
	const files = new Map(data.sources.map((s) => [s.path, s]));
	const players = [];
	let current = null; // the player that keys go to
	document.documentElement.classList.add("js");

	for (const section of document.querySelectorAll("main.point")) {
		const p = player(section, data.points[+section.dataset.point]);
		if (p) players.push(p);
	}
	current = players[0] || null;
	for (const el of document.querySelectorAll(".source[data-path]")) {
		sourcePanel(el)(el.dataset.path, +el.dataset.line, new Set());
	}

	// player shows the steps of one C-point.
	function player(section, point) {
		const root = section.querySelector(".player");
		if (!root || point.steps.length === 0) return null;
		root.hidden = false;
		const q = (s) => root.querySelector(s);
		const slider = q("input"), output = q("output"), play = q("[data-go=play]");
		const caption = { title: q(".title"), change: q(".change"), state: q(".state") };
		const show = point.frames ? drawing(section, root, point) : () => {};
		const follow = sourcePanel(section.querySelector(".source"));
		const cards = [...section.querySelectorAll(".suspect")];
		const findings = [...section.querySelectorAll(".finding")];
		const accused = new Map(); // path → lines
		for (const s of point.suspects) {
			if (!accused.has(s.path)) accused.set(s.path, new Set());
			accused.get(s.path).add(s.line);
		}
		const last = point.steps.length - 1;
		let at = 0, timer = 0;
		slider.max = last;
		ticks(q(".ticks"), point, go);

		// go shows a step; a suspect is chosen where the step is its own, or was
		// asked for.
		function go(to, suspect) {
			at = Math.min(Math.max(to, 0), last);
			const step = point.steps[at];
			slider.value = at;
			output.textContent = "step " + at + " of " + last;
			caption.title.textContent = step.title;
			caption.change.textContent = step.change || "";
			const text = verdict(step);
			caption.state.textContent = text;
			caption.state.className = "state" + (step.broken === null ? "" : step.broken.length ? " is-bad" : " is-good");
			slider.setAttribute("aria-valuetext", [step.title, step.change, text].filter(Boolean).join(". "));
			findings.forEach((f, i) => f.classList.toggle("is-broken", step.broken !== null && step.broken.includes(i)));
			const chosen = suspect !== undefined ? suspect : point.suspects.findIndex((s) => s.rank === step.suspect);
			cards.forEach((c, i) => c.classList.toggle("is-chosen", i === chosen));
			const place = chosen >= 0 ? point.suspects[chosen] : step;
			if (place.path) follow(place.path, place.line, accused.get(place.path) || new Set());
			show(at);
		}
		function verdict(step) {
			let s = step.broken === null ? "" : step.broken.length === 0 ? "no finding is broken here"
				: "broken here: " + [...new Set(step.broken.map((i) => point.findings[i]))].join(", ");
			if (step.left) s += (s ? " · " : "") + step.left + (step.left === 1 ? " change" : " changes") + " before it not shown";
			return s;
		}
		// choose shows a suspect's change, or where it is missing the end.
		function choose(i, before) {
			stop();
			const s = point.suspects[i];
			if (!s) return;
			if (s.step < 0) go(last, i);
			else go(before ? s.step - 1 : s.step, i);
		}
		function stop() {
			clearInterval(timer);
			timer = 0;
			play.textContent = "▶ play";
			play.setAttribute("aria-label", "play");
		}
		function toggle() {
			if (timer) return stop();
			if (at === last) go(0);
			play.textContent = "❚❚ pause";
			play.setAttribute("aria-label", "pause");
			timer = setInterval(() => { if (at >= last) stop(); else go(at + 1); }, 900);
		}
		const moves = {
			first: () => { stop(); go(0); }, back: () => { stop(); go(at - 1); }, play: toggle,
			on: () => { stop(); go(at + 1); }, last: () => { stop(); go(last); },
		};
		slider.addEventListener("input", () => { stop(); go(+slider.value); });
		for (const b of root.querySelectorAll("[data-go]")) b.addEventListener("click", moves[b.dataset.go]);
		cards.forEach((card, i) => {
			card.addEventListener("click", (e) => {
				if (e.target.closest("details")) return;
				choose(i, e.target.dataset.jump === "before");
			});
		});
		section.addEventListener("pointerdown", () => { current = self; });
		section.addEventListener("focusin", () => { current = self; });
		section.addEventListener("defined", (e) => { stop(); go(e.detail); });
		const self = { moves, choose };
		if (point.suspects.length) choose(0, false); else go(last);
		return self;
	}

	// ticks draws what is broken when, and whose steps the suspects' are.
	function ticks(el, point, go) {
		const n = Math.max(point.steps.length - 1, 1);
		point.steps.forEach((s, i) => {
			const bar = document.createElement("i");
			bar.className = s.broken === null ? "is-unknown" : s.broken.length ? "is-bad" : "";
			bar.style.left = 100 * Math.max(i - 0.5, 0) / n + "%";
			bar.style.width = 100 * ((i === 0 || i === n) ? 0.5 : 1) / n + "%";
			el.append(bar);
			if (!s.suspect) return;
			const b = document.createElement("b");
			b.textContent = s.suspect;
			b.style.left = 100 * i / n + "%";
			b.addEventListener("click", () => go(i));
			el.append(b);
		});
	}

	// drawing returns what shows a frame.
	function drawing(section, root, point) {
		const svg = root.querySelector(".stage svg"), stage = root.querySelector(".stage");
		const all = (letter, n) => Array.from({ length: n }, (_, i) => svg.querySelector("#" + section.id + "-" + letter + i));
		const nodes = all("n", point.frames[0].n.length), edges = all("e", point.frames[0].e.length);
		const kinds = edges.map((el) => el ? el.getAttribute("class") : ""); // "edge", or "edge aside"
		const cells = [...svg.querySelectorAll(".cell")].map((g) => ({ id: +g.id.slice(section.id.length + 2), g, title: g.querySelector("title"), value: g.querySelector(".value"), key: g.querySelector("title").textContent }));
		const texts = []; // by frame: cell → text
		const since = []; // by frame: cell → the frame that wrote it
		let row = new Map(), from = new Map();
		point.frames.forEach((f, i) => {
			row = new Map(row);
			from = new Map(from);
			for (const [c, t] of f.v || []) { row.set(c, t); from.set(c, i); }
			for (const [c, m] of f.m || []) if (m === "c") from.set(c, i);
			texts.push(row);
			since.push(from);
		});
		let at = 0;
		for (const c of cells) {
			c.g.addEventListener("click", () => {
				const i = since[at].get(c.id);
				if (i > 0) section.dispatchEvent(new CustomEvent("defined", { detail: i }));
			});
		}
		const size = { w: +svg.getAttribute("width"), h: +svg.getAttribute("height") };
		function fit() {
			const high = parseFloat(getComputedStyle(stage).maxHeight) - 4;
			const scale = Math.max(0.75, Math.min(1.3, (stage.clientWidth - 4) / size.w, high / size.h));
			svg.setAttribute("width", size.w * scale);
			svg.setAttribute("height", size.h * scale);
		}
		window.addEventListener("resize", () => { fit(); show(at); });
		fit();
		const state = (el, kind, letter) => el && el.setAttribute("class", kind + " is-" + (letter === "." ? "off" : letter));
		function show(i) {
			at = i;
			const f = point.frames[i], marks = new Map(f.m || []);
			nodes.forEach((el, k) => state(el, "box", f.n[k]));
			edges.forEach((el, k) => state(el, kinds[k], f.e[k]));
			let focus = null;
			for (const c of cells) {
				const text = texts[i].get(c.id) || "", mark = marks.get(c.id) || "";
				c.value.textContent = cut(text, point.room);
				c.title.textContent = c.key + " = " + text + (since[i].get(c.id) > 0 ? " (click: the step that wrote it)" : "");
				c.g.setAttribute("class", "cell" + (mark ? " is-" + mark : ""));
				if (mark === "c" || mark && !focus) focus = c.g;
			}
			center(focus || nodes.find((el, k) => f.n[k] === "b" || f.n[k] === "n"));
		}
		function center(el) {
			if (!el || (stage.scrollWidth <= stage.clientWidth && stage.scrollHeight <= stage.clientHeight)) return;
			const a = el.getBoundingClientRect(), b = stage.getBoundingClientRect();
			if (a.left >= b.left && a.right <= b.right && a.top >= b.top && a.bottom <= b.bottom) return;
			stage.scrollBy(a.left + a.width / 2 - b.left - b.width / 2, a.top + a.height / 2 - b.top - b.height / 2);
		}
		return show;
	}

	function cut(s, n) {
		const r = Array.from(s);
		return r.length > n ? r.slice(0, n - 1).join("") + "…" : s;
	}

	// sourcePanel returns what shows a line of a file.
	function sourcePanel(el) {
		let shown = null;
		const head = el.querySelector("h2"), box = el.querySelector(".lines");
		const rows = new Map();
		return function (path, line, accused) {
			const file = files.get(path);
			el.hidden = false;
			if (!file) {
				head.textContent = path + ":" + line + " (its source is not here)";
				box.hidden = true;
				return;
			}
			box.hidden = false;
			head.textContent = path + ":" + line;
			if (shown !== path) {
				shown = path;
				rows.clear();
				box.textContent = "";
				file.parts.forEach((part, k) => {
					if (k > 0) box.append(div("gap", "⋮"));
					part.lines.forEach((text, i) => {
						const row = div("l", ""), no = document.createElement("i");
						no.textContent = part.first + i;
						row.append(no, text);
						if (accused.has(part.first + i)) row.classList.add("is-suspect");
						rows.set(part.first + i, row);
						box.append(row);
					});
				});
			}
			for (const r of box.querySelectorAll(".at")) { r.classList.remove("at"); r.removeAttribute("aria-current"); }
			const row = rows.get(line);
			if (!row) return;
			row.classList.add("at");
			row.setAttribute("aria-current", "true");
			box.scrollTop = row.offsetTop - box.clientHeight / 2 + row.offsetHeight / 2;
		};
	}
	function div(cls, text) {
		const d = document.createElement("div");
		d.className = cls;
		d.textContent = text;
		return d;
	}

	document.addEventListener("keydown", (e) => {
		if (!current || e.ctrlKey || e.metaKey || e.altKey) return;
		const tag = e.target.tagName, sliding = tag === "INPUT";
		if ((e.key === " " || e.key === "Enter") && (tag === "BUTTON" || tag === "SUMMARY" || tag === "A")) return;
		const move = { ArrowLeft: "back", ArrowRight: "on", Home: "first", End: "last", " ": "play" }[e.key];
		if (move && !(sliding && e.key !== " ")) {
			e.preventDefault();
			current.moves[move]();
		} else if (/^[1-9]$/.test(e.key)) current.choose(+e.key - 1, false);
	});
})();
