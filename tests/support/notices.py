"""Notices that ask for consent, and articles beside which pages show them."""

NOTICE = (
    "<p>我们使用Cookie来改善您的浏览体验、分析网站流量并投放个性化内容。继续使用本网站即表示您同意我们按照隐私政策使用Cookie。</p>"
    "<p>必要的Cookie用于保证网站正常运行，统计类Cookie帮助我们了解访客如何使用网站，营销类Cookie用于向您展示相关的广告。</p>"
)
ENGLISH_NOTICE = (
    "<p>We and our partners use cookies to improve your visit. By going on you accept our privacy policy.</p>" * 3
)
ARTICLES = [
    [
        "昨天傍晚，城东的老码头又恢复了渡轮。",
        "船长说，停航三个月以来，机器全部拆开检修，甲板也换了新的木料。",
        "第一班船上只有十七名乘客。",
    ],
    [
        "县图书馆的古籍修复室今年完成了第一百二十册线装书的修补。",
        "修复员每天先用软毛刷清理灰尘，再把书页放在灯箱上，补上薄纸。",
    ],
    [
        "The library repaired its hundred and twentieth book this year.",
        "Every day the dust goes first, then the holes in pages.",
    ],
]

# Without the word cookie, in German, French, Spanish, Japanese and Russian.
CONSENTS = [
    "<p>Wir und unsere 842 Partner verarbeiten personenbezogene Daten, um Anzeigen anzupassen. Mit „Alle akzeptieren“ "
    "willigen Sie ein.</p><p>Sie können dies in der Datenschutzerklärung jederzeit widerrufen.</p>",
    "<p>Nous et nos 842 partenaires traitons des données personnelles pour adapter les annonces. En cliquant sur "
    "« Tout accepter », vous consentez.</p><p>Vous pouvez changer d’avis dans notre politique de confidentialité.</p>",
    "<p>Nosotros y nuestros 842 socios tratamos datos personales para elegir los anuncios. Al pulsar «Aceptar todo» "
    "usted lo permite.</p><p>Puede cambiar de opinión en la política de privacidad.</p>",
    "<p>当社と842社のパートナーは、広告を最適化するために個人データを処理します。「すべて同意する」を押すと同意したことになります。</p>"
    "<p>同意はプライバシーポリシーからいつでも撤回することができます。</p>",
    "<p>Мы и наши 842 партнёра обрабатываем персональные данные, чтобы показывать подходящую рекламу. Нажимая «Принять "
    "все», вы соглашаетесь.</p><p>Отозвать согласие можно в политике конфиденциальности.</p>",
]

# A notice of 3 kB, which no list of words knows.
TERMS = "".join(f"<p>Informacja {n}: serwis zbiera dane o odwiedzinach, aby dobierać treści.</p>" for n in range(40))
